import Digests
import Notifications
import TestSupport

@testable import KafkaClient
@testable import Sender

/// Topics, devices and providers; reapers that crash, lose answers and take over from each other. Single-threaded: what
/// happens meanwhile happens inside the calls of a reaper's log, also a whole run of another reaper.
final class ReapSimulation {
    struct Crash: Error {}

    /// What was appended to a partition; a marker of a transaction is nobody's record.
    struct Entry {
        var record: ConsumerRecord?
        var transaction: Int?
    }

    enum State { case open, prepared, committed, aborted }

    struct Device: Hashable {
        var number: Int
        var platform: Platform
    }

    static let partitions: Int32 = 3
    static let foreign = -1
    /// Of each platform; more dead devices than ten would wait for a person.
    static let numbers = 5

    var random: SeededGenerator
    var now: WallTime = 1_000_000_000
    var log = [[Entry]](repeating: [], count: 3)
    var states: [Int: State] = [:]
    var transactions = 0
    var deliveries = [[DeliveryRecord]](repeating: [], count: 2)
    var group: [Int32: CommittedOffset] = [:]
    var epoch = 0
    var open: (number: Int, epoch: Int)?
    /// The transaction of somebody else who writes subscriptions.
    var theirs: Int?
    /// When devices have died; those that are missing are alive.
    var died: [Device: WallTime] = [:]
    var isQuiet = false
    var depth = 0
    // What has happened, so that a test can tell that it shows something.
    var (crashes, lost, takenOver, restored, nulls, bursts) = (0, 0, 0, 0, 0, 0)

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    // MARK: The log

    static func partition(_ key: [UInt8]) -> Int { Int(Murmur2.partition(of: key, count: partitions)) }

    func append(
        _ key: [UInt8], _ value: [UInt8]?, _ headers: [RecordHeader], _ timestamp: WallTime, _ transaction: Int?
    ) {
        let partition = Self.partition(key)
        log[partition].append(
            Entry(
                record: ConsumerRecord(
                    topic: "subscriptions", partition: Int32(partition), offset: Offset(Int64(log[partition].count)),
                    timestamp: timestamp, key: key, value: value, headers: headers),
                transaction: transaction))
    }

    func end(_ transaction: Int, _ state: State) {
        states[transaction] = state
        for partition in log.indices where log[partition].contains(where: { $0.transaction == transaction }) {
            log[partition].append(Entry(record: nil, transaction: nil))
        }
    }

    private func state(_ entry: Entry) -> State { entry.transaction.map { states[$0] ?? .open } ?? .committed }

    func lastStable(_ partition: Int) -> Int64 {
        let first = log[partition].firstIndex { entry in
            switch state(entry) {
            case .open, .prepared: true
            case .committed, .aborted: false
            }
        }
        return Int64(first ?? log[partition].count)
    }

    func readable(_ partition: Int, from start: Int64) -> [ConsumerRecord] {
        let end = Int(lastStable(partition))
        guard start < end else { return [] }
        return log[partition][Int(start)..<end].filter { state($0) == .committed }.compactMap(\.record)
    }

    // MARK: The others

    func meanwhile() {
        guard !isQuiet else { return }
        for _ in 0..<Int.random(in: 0..<4, using: &random) { happen() }
        if depth < 3, chance(4) {
            bursts += 1
            reap()
        }
    }

    private func anyDevice() -> Device {
        Device(number: Int.random(in: 0..<Self.numbers, using: &random), platform: chance(50) ? .fcm : .apns)
    }

    private func happen() {
        now += Int64.random(in: 0..<120_000, using: &random)
        let device = anyDevice()
        let audience = "place/\(Int.random(in: 0..<2, using: &random))"
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<6: subscribe(device, audience)
        case 6..<8:
            append(ReapSamples.key(device.number, audience, device.platform), nil, [], now, foreignTransaction())
        case 8..<11: if died[device] == nil { died[device] = now }
        case 11..<17: push(device)
        case 17: now += 600_000
        default: endTheirs()
        }
    }

    func foreignTransaction() -> Int? {
        if theirs == nil, chance(30) {
            transactions += 1
            theirs = transactions
            states[transactions] = .open
        }
        return theirs
    }

    func endTheirs() {
        guard let number = theirs else { return }
        end(number, chance(80) ? .committed : .aborted)
        theirs = nil
    }

    /// Only a living device does.
    private func subscribe(_ device: Device, _ audience: String) {
        died[device] = nil
        let isRefresh = chance(30)
        let value = Subscription(
            audience: audience, token: ReapSamples.token(device.number, device.platform), platform: device.platform,
            app: "shop", registeredAt: isRefresh ? now - 86_400_000 : now,
            lastSeenAt: now)
        append(Array(value.key.utf8), value.encoded(), [], now, foreignTransaction())
    }

    /// The pipeline and the sender: what the table has is sent to, and the provider answers.
    func push(_ device: Device) {
        guard table().keys.contains(where: { $0.suffix(64).elementsEqual(hash(of: device).utf8) }) else { return }
        let evidence = died[device].map { device.platform == .fcm ? now : $0 }
        let record = ReapSamples.outcome(
            evidence == nil ? .accepted : .deadDevice, device.number, device.platform,
            app: device.platform == .apns ? "shop" : nil, evidence: evidence, status: evidence == nil ? 200 : 410,
            sent: now)
        // Those of a device are in one partition.
        deliveries[device.number % 2].append(record)
    }

    func hash(of device: Device) -> String { ReapSamples.hash(device.number, device.platform) }

    /// What the table has: the last readable record of each key.
    func table() -> [[UInt8]: ConsumerRecord] {
        var table: [[UInt8]: ConsumerRecord] = [:]
        for partition in log.indices {
            for record in readable(partition, from: 0) {
                guard let key = record.key else { continue }
                table[key] = record.value == nil ? nil : record
            }
        }
        return table
    }

    // MARK: The reapers

    /// One run; it may end in any way.
    func reap() {
        depth += 1
        defer { depth -= 1 }
        let run = ReapRun(SimulatedReapLog(self), group: "g")
        do {
            let plan = try run.plan(now: now)
            meanwhile()
            do {
                note(try run.perform(plan, .withinLimit))
            } catch is KafkaError {
                note(try run.perform(plan, .withinLimit))
            }
        } catch is ReaperTakenOver {
            takenOver += 1
        } catch {
            // A crash, or an answer that was lost again.
        }
    }

    private func note(_ report: ReapReport) {
        restored += report.restored
        nulls += report.subscriptions
    }

    func run() {
        for _ in 0..<60 {
            meanwhile()
            if chance(40) { reap() }
        }
        isQuiet = true
        endTheirs()
        for _ in 0..<3 {
            now += 1_000
            for number in 0..<Self.numbers {
                for platform in Platform.allCases { push(Device(number: number, platform: platform)) }
            }
            // Somebody's push is accepted after them, or their evidence would wait.
            deliveries[0].append(ReapSamples.outcome(.accepted, 99, status: 200, sent: now))
            now += 1_200_000
            reap()
        }
    }

    /// What is wrong in the end.
    func problems() -> [String] {
        var problems: [String] = []
        if !ReapPositions(group).unverified.isEmpty { problems.append("nulls are not verified") }
        // What the others have written, and no reaper.
        var asked: [[UInt8]: ConsumerRecord] = [:]
        for partition in log.indices {
            for record in readable(partition, from: 0) where ReapMark(of: record) == nil {
                asked[record.key ?? []] = record
            }
        }
        var evidence: [String: WallTime] = [:]
        for record in deliveries.joined() {
            if let time = record.evidence { evidence[record.device] = max(evidence[record.device] ?? 0, time) }
        }
        let table = table()
        for (key, record) in asked {
            let name = String(decoding: key, as: UTF8.self)
            let dead = evidence[String(name.suffix(64))] ?? .distantPast
            let isAsked = record.value != nil && (record.timestamp ?? 0) >= dead
            if isAsked, table[key] == nil { problems.append("\(name) registered after the evidence, and is gone") }
            if record.value == nil, table[key] != nil { problems.append("\(name) unsubscribed, and is back") }
            if record.value != nil, !isAsked, table[key] != nil { problems.append("\(name) is dead, and stays") }
        }
        for device in died.keys where table.keys.contains(where: { $0.suffix(64).elementsEqual(hash(of: device).utf8) })
        {
            problems.append("the dead device \(device) is still subscribed")
        }
        return problems
    }
}
