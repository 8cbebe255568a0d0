import KafkaClient

/// What a command sends again: it finds out what is to be sent, and ``send(_:with:pace:clock:progress:)`` sends that.
///
/// How far a run came is stored nowhere but in the topics that it writes to: each record there has its id. Before each
/// transaction the run looks at what was appended to them, its own records among it.
package protocol ResendSession: ~Copyable {
    associatedtype Plan: ResendPlan
    associatedtype Item
    associatedtype Omission: Hashable & Sendable

    /// Determines what is to be sent. Notifies nobody. Call it once, before all that follows.
    mutating func plan() throws -> Plan

    /// The next items that are not settled, in the order in which they are sent.
    func next(limit: Int) throws -> [Item]
    /// The first items of ``next(limit:)`` are settled.
    mutating func settle(_ items: ArraySlice<Item>)

    /// Reads what was appended to the log since the plan, or since the last look.
    mutating func look(tell: ResendProducer.Tell) throws
    func verdict(on item: Item, now: WallTime) throws -> ResendVerdict<Omission>
    func record(of item: Item) throws -> ResendRecord
}

/// What would be sent.
package protocol ResendPlan {
    /// The number that is left to be sent.
    var remaining: Int { get }
    /// The number that the log has under the run's id already.
    var done: Int { get }
}

package typealias ResendRecord = (topic: String, record: ProducerRecord)

/// What is to be done with an item, by what the log says now.
package enum ResendVerdict<Omission: Sendable>: Sendable {
    case send
    /// The log has it, by this run.
    case sent
    case leaveOut(Omission)
}

extension ResendVerdict: Equatable where Omission: Equatable {}

/// What became of a plan so far.
package struct ResendTally<Item, Omission: Hashable> {
    /// By all processes of the run.
    package var sent: Int
    /// By this process: the number of items that the broker rejects, and the first ones.
    package var refused = 0
    package var refusals: [(item: Item, message: String)] = []
    /// By this process: items that were left out when their turn came, by reason.
    package var leftOut: [Omission: Int] = [:]

    package init(sent: Int) { self.sent = sent }

    package var settled: Int { sent + refused + leftOut.values.reduce(0, +) }
}

/// Where a run writes to: ``ResendProducer``, or a test's log.
package protocol ResendWriter: ~Copyable {
    /// Of the run.
    var id: String { get }
    /// Receives progress messages for a waiting person, one line each.
    var tell: ResendProducer.Tell { get }
    /// Whether it was stopped from outside.
    var mustStop: Bool { get }

    /// Writes records in one transaction, each with the run's id.
    ///
    /// - Returns: true if all are written. False if none is, or if only the log knows; whatever is written can then be
    ///   read there.
    /// - Throws: ``RecordRefused``, ``ResendTakenOver``, ``ReplayStopped``, and errors that a retry cannot resolve.
    mutating func send(_ records: [ResendRecord]) throws -> Bool
    /// Waits, and serves client events meanwhile; returns early when it is stopped.
    mutating func wait(until time: ContinuousClock.Instant)
}

private let mostRecords = 5_000
private let mostBytes = 8 << 20
private let mostRefusals = 20

extension ResendSession where Self: ~Copyable {
    package typealias Tally = ResendTally<Item, Omission>

    /// Sends what ``plan()`` found and a person confirmed, each item exactly once: one transaction for each second's
    /// worth, and where the broker rejects a record, one for each item.
    ///
    /// - Parameters:
    ///   - tally: what became of the items; current also when it throws.
    ///   - progress: called after each transaction.
    /// - Throws: what ``look(tell:)`` and ``ResendWriter/send(_:)`` throw, except for a rejected record, which is left
    ///   out.
    package mutating func send(
        _ tally: inout Tally, with writer: inout some ResendWriter & ~Copyable, pace: Pace, clock: () -> WallTime,
        progress: (Tally) -> Void = { _ in }
    ) throws {
        var pace = pace
        // How many of the next items are sent in transactions of their own.
        var alone = 0
        // Whether a transaction may have been written though nothing said so.
        var isUnsure = false
        while true {
            let items = try next(limit: alone > 0 ? 1 : min(pace.perSecond, mostRecords))
            guard !items.isEmpty else { return }
            if writer.mustStop { throw ReplayStopped() }
            let began = ContinuousClock.now
            try look(tell: writer.tell)
            var after = tally
            let (records, count) = try judge(items, at: clock(), &after)
            // Another process has sent some of them.
            if after.sent > tally.sent + records.count, !isUnsure { throw ResendTakenOver(id: writer.id) }
            do {
                // What was not written, or may have been, is looked for and judged again.
                guard try writer.send(records) else {
                    isUnsure = true
                    continue
                }
            } catch let refused as RecordRefused {
                guard count == 1 else {
                    alone = count
                    continue
                }
                after = tally
                after.refused += 1
                if after.refusals.count < mostRefusals {
                    after.refusals.append((items[0], refused.error.description))
                }
            }
            alone = max(0, alone - count)
            settle(items[..<count])
            tally = after
            progress(tally)
            writer.wait(until: pace.take(records.count, now: began))
        }
    }

    /// - Returns: the records of the first items, and the number of these.
    private func judge(
        _ items: [Item], at now: WallTime, _ tally: inout Tally
    ) throws -> (records: [ResendRecord], count: Int) {
        var records: [ResendRecord] = []
        var (bytes, count) = (0, 0)
        for item in items where bytes < mostBytes {
            count += 1
            switch try verdict(on: item, now: now) {
            case .leaveOut(let reason): tally.leftOut[reason, default: 0] += 1
            case .sent: tally.sent += 1
            case .send:
                let record = try record(of: item)
                bytes += record.record.value?.count ?? 0
                records.append(record)
                tally.sent += 1
            }
        }
        return (records, count)
    }
}
