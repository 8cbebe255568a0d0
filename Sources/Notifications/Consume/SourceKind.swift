/// What a topic's records are, and so how they become notifications. All records of a batch are of one source.
///
/// A source is extracted, committed and rolled back by a value of its own in the core; everything after the extraction
/// takes ``Notification``s and does not ask where they come from. Raw values are at most 3: they travel in two bits of a
/// record's tag.
public enum SourceKind: UInt8, CaseIterable, Sendable {
    /// Order lifecycle events (document 1).
    case orders
    /// Requests for a notification: app notifications and abstract messages (documents 2, 3 and 5; docs/rules.md §8).
    case requests
}

/// A partition of a source's topic.
public struct SourcePartition: Hashable, Comparable, Sendable {
    public var source: SourceKind
    public var number: Int32

    public init(_ source: SourceKind, _ number: Int32) {
        self.source = source
        self.number = number
    }

    public static func < (left: SourcePartition, right: SourcePartition) -> Bool {
        (left.source.rawValue, left.number) < (right.source.rawValue, right.number)
    }
}
