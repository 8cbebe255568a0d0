/// How many devices a dispatch record has (docs/rules.md §7.2).
public enum DispatchGrouping: String, CaseIterable, Sendable {
    /// One.
    case device
    /// Those of an audience to which the same message goes, up to the limits of ``GroupedForm``.
    case audience
}
