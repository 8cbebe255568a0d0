/// The transactions that were open for longer than `transaction.timeout`, which the broker then aborts: what came of them
/// is tried again in smaller ones, and what is too much for one of its own is found (ADR 55).
struct Outlasts: Equatable {
    /// The event or timer that does not fit into a transaction of its own so many times in a row becomes a dead letter.
    static let most = 3
    /// How many bytes a second a broker takes at least that works: one that takes less is at fault itself.
    static let leastRate = 256 << 10

    /// How many records a transaction may have before nothing more is begun in it; nil: as many as usual.
    private(set) var recordLimit: Int?
    /// How often an event was alone in such a transaction. At most one of each partition, since what is behind it waits.
    private var events: [EventCoordinates: Int] = [:]
    /// By partition: how often a single timer was. These timers have transactions of their own.
    private var timers: [Int32: Int] = [:]

    /// Whether the broker took enough until the end: otherwise it had stopped, or is slow for everybody, which no event is
    /// blamed for.
    ///
    /// - Parameter late: the bytes that it acknowledged after half of the timeout.
    static func wasBusy(late: Int, timeout: Duration) -> Bool {
        Double(late) >= timeout / .seconds(2) * Double(leastRate)
    }

    func isCondemned(_ event: EventCoordinates) -> Bool { events[event, default: 0] >= Self.most }

    func isCondemned(timerOf partition: Int32) -> Bool { timers[partition, default: 0] >= Self.most }

    /// Whether the timers of a partition go one by one.
    func isAlone(timerOf partition: Int32) -> Bool { timers[partition] != nil }

    /// How many records a transaction may have.
    func records(most: Int) -> Int { min(most, recordLimit ?? most) }

    /// A transaction became too old.
    ///
    /// - Parameters:
    ///   - wasBusy: see ``wasBusy(late:timeout:)``.
    ///   - timers: how many it had.
    mutating func note(_ transaction: OpenTransaction, timers: Int, wasBusy: Bool) {
        recordLimit = 1
        guard wasBusy else {
            // In a row: whoever was alone has to be so again.
            events.removeAll()
            self.timers = self.timers.mapValues { _ in 0 }
            return
        }
        if let event = transaction.alone {
            if !transaction.aloneIsDeadLetter { events[event, default: 0] += 1 }
        } else if let partition = transaction.timersOf {
            let isAlone = timers == 1 && transaction.events == 0
            self.timers[partition, default: 0] += isAlone ? 1 : 0
        }
    }

    /// A transaction was committed up to these offsets.
    ///
    /// - Parameter wasQuick: it took a small part of its timeout, so that the next one may be twice as large.
    mutating func committed(_ transaction: OpenTransaction, wasQuick: Bool, upTo next: (SourcePartition) -> Int64?) {
        if wasQuick, let limit = recordLimit { recordLimit = limit < 1 << 20 ? limit * 2 : nil }
        if !events.isEmpty { events = events.filter { event, _ in (next(event.partition) ?? .max) <= event.offset } }
        if let partition = transaction.timersOf { timers[partition] = nil }
    }
}
