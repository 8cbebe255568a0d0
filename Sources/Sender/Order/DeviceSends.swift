/// What of each device may have been sent and is not committed, of one kind in a partition.
///
/// A device's records are sent in order, each when the one before has its outcome. With few outcomes that are not
/// committed, only its first unfinished records can have been sent: a successor need not doubt the others.
struct DeviceSends: Sendable {
    typealias Device = DeviceOrder.Device

    /// The most records of a device that may have been sent and have no committed outcome.
    static let most = 2

    /// How many have an outcome since the last transaction was taken; and in the open one.
    private var ended: [Device: Int] = [:]
    private var writing: [Device: Int] = [:]
    /// How many firsts have an outcome since the partition was assigned, while something is in doubt.
    private var sinceAssignment: [Device: Int] = [:]
    private var hasDoubts: Bool

    init(hasDoubts: Bool) { self.hasDoubts = hasDoubts }

    /// Whether the next record may be sent before the next transaction has committed.
    func allows(_ device: Device) -> Bool { (ended[device] ?? 0) + (writing[device] ?? 0) < Self.most }

    /// Whether an earlier owner may have sent a record.
    ///
    /// - Parameter older: how many records of the device are before it.
    func areDoubted(_ device: Device, older: Int) -> Bool { (sinceAssignment[device] ?? 0) + older < Self.most }

    /// A record has an outcome.
    ///
    /// - Parameter isFirst: whether it was its device's first: what ends behind others, as by its expiry, leaves their doubts.
    mutating func end(_ device: Device, isFirst: Bool) {
        ended[device, default: 0] += 1
        if hasDoubts, isFirst { sinceAssignment[device, default: 0] += 1 }
    }

    /// Nothing is left that an earlier owner may have sent.
    mutating func endDoubts() {
        guard hasDoubts else { return }
        hasDoubts = false
        sinceAssignment = [:]
    }

    /// A transaction is taken that has the outcomes.
    mutating func take() { swap(&ended, &writing) }

    mutating func commit() { writing.removeAll(keepingCapacity: true) }

    /// The next transaction has the outcomes of the one that was aborted.
    mutating func abort() {
        ended.merge(writing, uniquingKeysWith: +)
        writing.removeAll(keepingCapacity: true)
    }
}
