/// Why a pipeline ended other than by draining. The command line turns it into its exit code.
public enum PipelineError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Another process uses this instance's state folder, or has taken one of its slots.
    case instanceInUse(String)
    /// A defect of this program or of its machine: the watchdog, a store that cannot be written.
    case defect(String)
    /// A record that can be written nowhere, not even as a truncated dead letter.
    case unplaceableRecord(String)
    /// The drain did not end in time. Nothing is lost: the open transaction times out.
    case notDrained(String)
    /// The broker refused the login, or an ACL is missing.
    case notAuthorized(String)
    /// A setting is wrong, or only an operator can decide what to do.
    case decisionNeeded(String)

    /// Whether a person has to act before a restart helps; what has nothing to do with it works on.
    package var needsAPerson: Bool {
        switch self {
        case .notAuthorized, .decisionNeeded: true
        case .instanceInUse, .defect, .unplaceableRecord, .notDrained: false
        }
    }

    public var description: String {
        switch self {
        case .instanceInUse(let text), .defect(let text), .unplaceableRecord(let text), .notDrained(let text),
            .notAuthorized(let text), .decisionNeeded(let text):
            text
        }
    }
}
