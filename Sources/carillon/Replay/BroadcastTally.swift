import Broadcasts
import Replay

/// What the journal of broadcasts has of a stretch of time: a replay leaves broadcasts out, and says how much it leaves out.
struct BroadcastTally: Equatable, Encodable {
    var broadcasts = 0
    var transactions = 0
    /// Pushes to devices that were there when a broadcast began, and to devices that joined later.
    var devices = 0
    var late = 0
    private var offsets: Set<Int64> = []

    private enum CodingKeys: String, CodingKey {
        case broadcasts, transactions, devices, late
    }

    /// Takes an entry of the journal. Entries of the time that sent nothing do not count.
    ///
    /// - Parameter range: of the entries' clocks.
    mutating func note(_ entry: BroadcastJournalEntry, within range: Range<WallTime>) {
        guard range.contains(entry.clock) else { return }
        let sent = entry.passes.filter { $0.sent > 0 }
        guard !sent.isEmpty || !entry.late.isEmpty else { return }
        transactions += 1
        devices += sent.reduce(0) { $0 + $1.sent }
        late += entry.late.reduce(0) { $0 + $1.sent }
        offsets.formUnion(sent.map(\.subject.broadcast))
        offsets.formUnion(entry.late.map(\.subject.broadcast))
        broadcasts = offsets.count
    }

    /// One line for a person.
    var text: String {
        "broadcasts, which are not replayed: \(ProgressLine.grouped(broadcasts)) in \(ProgressLine.grouped(transactions)) "
            + "transactions → \(ProgressLine.grouped(devices)) devices, and \(ProgressLine.grouped(late)) that joined later"
    }

    /// Of the time that a request selects; nil where it selects by something that broadcasts do not have, or where there
    /// are none.
    static func read(_ configuration: PipelineConfiguration, _ request: ReplayRequest) throws -> BroadcastTally? {
        guard !configuration.topics.broadcasts.isEmpty, request.sources == nil, request.offsets == nil,
            request.partitions == nil, request.filter.isEmpty
        else { return nil }
        var tally = BroadcastTally()
        let range = (request.from ?? .epoch)..<(request.to ?? .distantFuture)
        try BroadcastGroup.readJournal(configuration, since: request.from) { tally.note($0, within: range) }
        return tally
    }
}
