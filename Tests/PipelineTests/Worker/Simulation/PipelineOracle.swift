import KafkaClient
import KafkaSimulation

@testable import Notifications
@testable import Pipeline

/// What the committed transactions should have written, by a naive fold of each partition's records, and what they wrote.
struct PipelineOracle {
    private let world: PipelineSimulation
    private(set) var problems: [String] = []
    /// Timers that should have been sent a while ago.
    private(set) var forgotten: [String] = []
    /// What was sent and what was not, by kind.
    private(set) var happened: [String: Int] = [:]
    private var orders: [TopicPartition: NaiveOrders] = [:]
    /// The ids of the requests: a run takes less than a day.
    private var requested: Set<String> = []
    /// Of the latest transaction of each partition: T of its tick, and the table.
    private var ticks: [TopicPartition: WallTime] = [:]
    private var tables: [TopicPartition: [Int64]] = [:]
    /// What the latest table had.
    private var known: (table: [Int64], devices: [String: [String]]) = ([], [:])
    /// The offset and the metadata that each partition has come to.
    private var reached: [TopicPartition: CommittedOffset] = [:]
    private var newest: [TopicPartition: WallTime] = [:]

    init(_ world: PipelineSimulation) {
        self.world = world
        let topics = world.configuration.topics
        for topicPartition in world.sources {
            orders[topicPartition] = NaiveOrders(
                watermark: PipelineSimulation.start, maxLateness: PipelineSimulation.maxLateness)
        }
        var journals = written(topics.journal)
        var pushes = written(topics.dispatch)
        var letters = written(topics.deadLetters)
        for commit in world.kafka.commits {
            let journal = journals.removeValue(forKey: commit.transaction) ?? []
            guard journal.count == 1, let record = journal.first,
                let entry = (record.value ?? []).withUnsafeBytes({ try? JournalEntry(json: $0) })
            else {
                problems.append("transaction \(commit.transaction) has \(journal.count) entries in the journal")
                continue
            }
            let before = problems.count
            check(
                commit, entry, at: record.timestamp ?? .epoch, pushes.removeValue(forKey: commit.transaction) ?? [],
                letters.removeValue(forKey: commit.transaction) ?? [])
            for index in before..<problems.count {
                problems[index] = "transaction \(commit.transaction): \(problems[index])"
            }
        }
        let left = journals.merging(pushes, uniquingKeysWith: +).merging(letters, uniquingKeysWith: +)
        for (transaction, records) in left {
            problems.append("transaction \(transaction) has no offsets, and \(records.count) records")
        }
        for topicPartition in world.sources
        where world.kafka.offsets[topicPartition] != reached[topicPartition] && reached[topicPartition] != nil {
            problems.append("\(topicPartition) is at \(String(describing: world.kafka.offsets[topicPartition]))")
        }
        forgotten = world.sources.flatMap { orders[$0]?.forgotten(at: world.doneAt - 5_000) ?? [] }
    }

    /// What was committed of a topic, by transaction.
    private func written(_ topic: String) -> [Int: [ProducerRecord]] {
        let entries = world.kafka.logs[TopicPartition(topic: topic, partition: 0)]?.entries.filter(\.isCommitted) ?? []
        return Dictionary(grouping: entries, by: \.transaction).mapValues { $0.compactMap(\.record) }
    }

    // MARK: A transaction

    private mutating func check(
        _ commit: SimulatedKafka.Commit, _ entry: JournalEntry, at appended: WallTime, _ pushes: [ProducerRecord],
        _ letters: [ProducerRecord]
    ) {
        happened["transactions", default: 0] += 1
        let table = entry.table ?? []
        checkTable(table, at: entry.clock, appended)
        if known.table != table { known = (table, devices(table)) }
        let devices = known.devices
        var found = Dictionary(grouping: pushes.map(Self.line), by: \.topicPartition)
        var dead = Dictionary(grouping: letters.map(Self.letter), by: \.topicPartition)
        if Set(entry.ranges.map { TopicPartition(topic: $0.topic, partition: $0.partition) }) != Set(commit.after.keys)
        {
            problems.append("its ranges are \(entry.ranges), and its offsets \(commit.after)")
        }
        for (range, watermark) in zip(entry.ranges, entry.watermarks) {
            let topicPartition = TopicPartition(topic: range.topic, partition: range.partition)
            checkRange(range, watermark, topicPartition, commit)
            // No owner knows less of the subscriptions than the one before.
            if zip(tables[topicPartition] ?? [], table).contains(where: { $0 > $1 }) {
                problems.append("\(topicPartition) had the table at \(tables[topicPartition] ?? []), and has \(table)")
            }
            tables[topicPartition] = table
            var (expected, unreadable) = events(topicPartition, range, devices, entry)
            if let time = watermark.until {
                expected += timers(topicPartition, range, watermark, time, entry.clock, devices)
            } else if watermark.start != watermark.end {
                problems.append("the watermark of \(topicPartition) has moved without a tick")
            }
            let sent = Self.sorted(found.removeValue(forKey: topicPartition.description) ?? [])
            if sent != expected {
                problems.append("\(topicPartition) from \(range.from) to \(range.to): \(sent) for \(expected)")
            }
            let written = (dead.removeValue(forKey: topicPartition.description) ?? []).map(\.offset)
            if written != unreadable {
                problems.append("dead letters of \(topicPartition): \(written) for \(unreadable)")
            }
            happened["events", default: 0] += world.committed(topicPartition, from: range.from, to: range.to).count
            happened["pushes", default: 0] += sent.count
            happened["dead letters", default: 0] += written.count
        }
        if !found.isEmpty || !dead.isEmpty { problems.append("\(found) and \(dead) are of no range") }
    }

    /// The offsets say what the journal says, and continue those before.
    private mutating func checkRange(
        _ range: JournalEntry.Range, _ watermark: JournalEntry.Watermark, _ topicPartition: TopicPartition,
        _ commit: SimulatedKafka.Commit
    ) {
        let isOrders = topicPartition.topic == world.configuration.topics.events
        let covered = world.committed(topicPartition, from: range.from, to: range.to)
        func offset(_ offset: Int64, _ watermark: TimerWatermark, newest: WallTime) -> CommittedOffset {
            let metadata = OffsetMetadata(
                watermark: watermark, partitions: isOrders ? PipelineSimulation.partitions : 1, newestTimestamp: newest)
            return CommittedOffset(offset: Offset(offset), metadata: metadata.text)
        }
        let before = newest[topicPartition] ?? .epoch
        let after = covered.last?.time ?? before
        newest[topicPartition] = after
        let moves = [
            (commit.before[topicPartition], offset(range.from, watermark.start, newest: before)),
            (commit.after[topicPartition], offset(range.to, watermark.end, newest: after)),
            (commit.before[topicPartition], reached[topicPartition] ?? commit.before[topicPartition]!),
        ]
        for (found, expected) in moves where found != expected {
            problems.append("\(topicPartition) is committed at \(String(describing: found)) instead of \(expected)")
        }
        reached[topicPartition] = commit.after[topicPartition]
        let first = covered.first
        if range.first.map({ Int($0.offset) }) != first?.offset || range.first?.timestamp != first?.time {
            problems.append("the first record of \(topicPartition) is \(String(describing: range.first))")
        }
        if range.incomplete != nil { problems.append("\(topicPartition) is incomplete") }
    }

    /// It is no older than it may be, and nothing is in it that nobody could read.
    private mutating func checkTable(_ table: [Int64], at clock: WallTime, _ appended: WallTime) {
        // Fan-out may begin a moment after the look at the table, or later where the process was stopped.
        let age: Int64 = world.configuration.subscriptionsMaxLag.wholeMilliseconds + 2_500
        var since = clock - age
        for freeze in world.kafka.freezes where freeze.lowerBound < clock && since < freeze.upperBound {
            let frozen: Int64 = freeze.upperBound - freeze.lowerBound
            since = since - frozen
        }
        for number in 0..<2 {
            let topicPartition = world.subscriptions(number)
            let allowed = world.end(of: topicPartition, at: since)...world.end(of: topicPartition, at: appended)
            if table.count != 2 || !allowed.contains(Int(table[number])) {
                problems.append("the table of \(clock) is at \(table), not within \(allowed) of \(topicPartition)")
            }
        }
    }

    /// By place, ascending.
    private func devices(_ table: [Int64]) -> [String: [String]] {
        var devices: [String: Set<String>] = [:]
        for (number, end) in table.enumerated() {
            for (_, _, input) in world.committed(world.subscriptions(number), from: 0, to: end) {
                guard case .subscription(let place, let device, let isSubscribed) = input else { continue }
                if isSubscribed {
                    devices[place, default: []].insert(device)
                } else {
                    devices[place, default: []].remove(device)
                }
            }
        }
        return devices.mapValues { $0.sorted() }
    }

    // MARK: What it should have written

    private mutating func events(
        _ topicPartition: TopicPartition, _ range: JournalEntry.Range, _ devices: [String: [String]],
        _ entry: JournalEntry
    ) -> (pushes: [String], unreadable: [Int]) {
        var pushes: [String] = []
        var unreadable: [Int] = []
        for (offset, time, input) in world.committed(topicPartition, from: range.from, to: range.to) {
            switch input {
            case .event(let facts):
                guard let push = orders[topicPartition]?.fold(facts, at: time) else { continue }
                pushes += Self.lines(push, from: "\(topicPartition)/\(offset)", devices)
            case .request(let id, let audience, let written):
                if let written { checkWait(of: "\(topicPartition)/\(offset)", at: time, for: written, entry) }
                guard requested.insert(id).inserted else {
                    happened["repeated requests", default: 0] += 1
                    continue
                }
                pushes += (devices[audience] ?? []).map { "\(topicPartition)/\(offset)    \($0)" }
            case .unreadable: unreadable.append(offset)
            case .subscription: continue
            }
        }
        return (pushes, unreadable)
    }

    /// - Parameter time: T.
    private mutating func timers(
        _ topicPartition: TopicPartition, _ range: JournalEntry.Range, _ watermark: JournalEntry.Watermark,
        _ time: WallTime,
        _ clock: WallTime, _ devices: [String: [String]]
    ) -> [String] {
        if time > clock || time < ticks[topicPartition] ?? .epoch || watermark.end < watermark.start
            || watermark.end > TimerWatermark(time)
        {
            problems.append(
                "a tick of \(topicPartition) at \(time), by \(clock), after \(ticks[topicPartition] ?? .epoch): \(watermark)"
            )
        }
        ticks[topicPartition] = time
        // What could be read at T comes before it.
        if let left = world.committed(
            topicPartition, from: range.to, to: Int64(world.end(of: topicPartition, at: time))
        ).first {
            problems.append("a tick of \(topicPartition) at \(time) comes before offset \(left.offset)")
        }
        guard
            let (pushes, drops) = orders[topicPartition]?.fire(
                reaching: .init(w: watermark.end.time, p: watermark.end.splitText), until: time, clock: clock)
        else { return [] }
        happened["timers", default: 0] += pushes.count
        if watermark.end.split != nil { happened["split instants", default: 0] += 1 }
        for drop in drops { happened[drop.label, default: 0] += 1 }
        return pushes.flatMap { Self.lines($0, from: "\(topicPartition)/\(range.to)", devices) }
    }

    private static func lines(_ push: NaiveOrders.Push, from source: String, _ devices: [String: [String]]) -> [String]
    {
        (devices[PipelineSimulation.place(of: push.order)] ?? []).map { "\(source) \(push.order) \(push.text) \($0)" }
    }

    /// A request that waits is sent by a table that has what was written before it, or `subscriptions.max-lag` later; where
    /// something goes wrong, at once after another one that waited in vain.
    private mutating func checkWait(
        of request: String, at time: WallTime, for written: [Int], _ entry: JournalEntry
    ) {
        let isSeen = zip(entry.table ?? [], written).allSatisfy { $0 >= $1 }
        happened[isSeen ? "waits" : "waits in vain", default: 0] += 1
        let waited = entry.clock - time
        if !isSeen, !world.isFaulty, waited < world.configuration.subscriptionsMaxLag.wholeMilliseconds {
            problems.append("\(request) waited \(waited) ms, with the table at \(entry.table ?? []), for \(written)")
        }
    }

    // MARK: What it wrote

    private static func line(_ record: ProducerRecord) -> (topicPartition: String, head: String, device: String) {
        let text = String(decoding: record.value ?? [], as: UTF8.self)
        func field(_ name: String) -> String {
            guard let start = text.firstRange(of: "\\\"\(name)\\\":\\\"")?.upperBound else { return "" }
            return String(text[start...].prefix { $0 != "\\" })
        }
        var source = header(.source, of: record)
        var head = "\(field("order_id")) \(field("event_type")) \(field("previous_status"))"
        if source.hasPrefix("schedule/") {
            source = source.replacing("schedule/", with: "orders.events/")
            head += " \(header(.messageID, of: record).split(separator: "-")[1])"
        }
        let device = PipelineSimulation.devices[String(decoding: record.key ?? [], as: UTF8.self)] ?? "nobody"
        return (String(source.prefix(upTo: source.lastIndex(of: "/")!)), "\(source) \(head)", device)
    }

    /// The devices of a notification, which may come in any order, ascending.
    private static func sorted(_ lines: [(topicPartition: String, head: String, device: String)]) -> [String] {
        var sorted: [(head: String, devices: [String])] = []
        for line in lines {
            if sorted.last?.head == line.head {
                sorted[sorted.count - 1].devices.append(line.device)
            } else {
                sorted.append((line.head, [line.device]))
            }
        }
        return sorted.flatMap { line in line.devices.sorted().map { "\(line.head) \($0)" } }
    }

    private static func letter(_ record: ProducerRecord) -> (topicPartition: String, offset: Int) {
        func header(_ name: String) -> String {
            text(record.headers.first { $0.name == "__connect.errors.\(name)" })
        }
        return ("\(header("topic"))/\(header("partition"))", Int(header("offset")) ?? -1)
    }

    private static func header(_ header: DispatchHeader, of record: ProducerRecord) -> String {
        text(record.headers.first { $0.name == header.text })
    }

    private static func text(_ header: RecordHeader?) -> String { String(decoding: header?.value ?? [], as: UTF8.self) }
}
