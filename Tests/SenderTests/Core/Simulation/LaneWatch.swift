import KafkaClient
import Notifications
import Pipeline

@testable import Sender

/// What is seen of one process: what it has decided, sent and committed, and whether it might.
///
/// `@unchecked Sendable`: only the thread with the baton touches it.
final class LaneWatch: @unchecked Sendable {
    /// A record of a topic.
    struct Copy: Hashable {
        var stream: LaneStream
        var partition: Int32
        var offset: Int64
    }

    struct Owner: Hashable {
        var process: Int
        /// How often it was assigned its partitions.
        var assignment = 0
    }

    struct Sent {
        let id: LaneSimulation.ID
        let copy: Copy
        let owner: Owner
    }

    /// `unowned`: it belongs to the simulation.
    unowned let simulation: LaneSimulation
    private var owner: Owner
    /// What it has come to an outcome of since its partitions were assigned.
    private var decided: Set<LaneSimulation.ID> = []
    /// By tag.
    private(set) var sent: [UInt64: Sent] = [:]
    private(set) var possiblyTwice = 0
    var writing: [TopicPartition: CommittedOffset] = [:]
    /// What the group has, as it knows.
    private var group: [TopicPartition: CommittedOffset] = [:]

    init(_ simulation: LaneSimulation, number: Int) {
        self.simulation = simulation
        owner = Owner(process: number)
    }

    // MARK: Its partitions

    func located(_ committed: [TopicPartition: CommittedOffset]) {
        owner.assignment += 1
        group = committed
    }

    func released(_ core: LaneCore) {
        simulation.provider.unanswered += core.inFlight.count
        decided = []
        writing = [:]
    }

    func committed() {
        group.merge(writing) { $1 }
        writing = [:]
    }

    // MARK: Its core

    func look(_ core: LaneCore) {
        for outcome in core.outbox.outcomes { decided.insert(id(outcome)) }
        possiblyTwice = core.possiblyTwice
    }

    private func id(_ outcome: DeliveryRecord) -> LaneSimulation.ID {
        let kind = simulation.configuration.topics.dispatchTopics.firstIndex(of: outcome.topic) ?? 0
        return .init(kind: PushKind.allCases[kind], partition: outcome.partition, source: outcome.offset)
    }

    /// It has made these requests.
    func sends(_ core: LaneCore, from first: UInt64, saidBefore: Int, wasPaused: Bool) {
        checkMemory(core)
        var again = 0
        let requests = (first..<core.nextTag).compactMap { tag in
            core.inFlight[tag].flatMap { key in core.held[key].map { (tag, key, $0) } }
        }
        if wasPaused, requests.count > 1 { problem("\(requests.count) were sent in a pause") }
        for (tag, key, record) in requests {
            let id = LaneSimulation.ID(kind: key.kind, partition: key.partition, source: key.source)
            guard let push = simulation.pushes[id] else {
                problem("\(id) is no push of this lane, and was sent")
                continue
            }
            let copy = Copy(stream: record.stream, partition: key.partition, offset: record.offset)
            sent[tag] = Sent(id: id, copy: copy, owner: owner)
            check(push, copy, core)
            if let sender = simulation.senders.removeValue(forKey: copy), sender != owner { again += 1 }
            simulation.owners[key.partition] = owner
        }
        let said = core.possiblyTwice - saidBefore
        if said < again { problem("\(again) were sent by an earlier owner, \(said) were said") }
    }

    private func check(_ push: LaneSimulation.Push, _ copy: Copy, _ core: LaneCore) {
        if simulation.now >= push.expiresAt { problem("\(push.id) was sent after its expiry") }
        if simulation.isOver(push) { problem("\(push.id) was sent after its broadcast was over") }
        if simulation.isCancelled(push, for: 1_000) { problem("\(push.id) was sent after its request was cancelled") }
        if simulation.isPaused { problem("\(push.id) was sent while its provider was paused") }
        let others = core.inFlight.values.count { core.held[$0]?.record.device == push.device }
        if others > 1 { problem("\(push.id) was sent while its device has a request in flight") }
        let topicPartition = simulation.topicPartition(copy.stream, copy.partition)
        let bound = group[topicPartition].flatMap {
            LaneOffset(offset: $0.offset.value, metadata: $0.metadata)?.sentBelow
        }
        if copy.offset >= bound ?? 0 {
            problem("\(push.id) was sent from \(topicPartition), \(copy.offset), beyond \(bound ?? 0)")
        }
        for older in simulation.line(of: push) {
            guard older.id.source < push.id.source else { break }
            if decided.contains(older.id) || !simulation.isCommitted(older) || simulation.isEnded(older.id) { continue }
            problem("\(push.id) was sent from \(copy.stream) before \(older.id), which is older")
        }
    }

    /// A request of it has come to the provider.
    func arrived(_ sent: Sent, isTaken: Bool) {
        if let owner = simulation.owners[sent.id.partition], owner != sent.owner {
            problem("\(sent.id) was sent by \(sent.owner), and \(owner) has sent since")
        }
        if isTaken { simulation.senders[sent.copy] = sent.owner }
    }

    // MARK: What it holds

    /// What is held is bounded, of the lane and of each device.
    private func checkMemory(_ core: LaneCore) {
        simulation.mostWaiting = max(simulation.mostWaiting, core.status.waiting)
        if core.held.count > 4 * core.settings.inFlight { problem("\(core.held.count) are held") }
        let devices = Dictionary(grouping: core.held.values) { "\($0.record.kind) \($0.record.device)" }
        if let most = devices.values.map(\.count).max(), most > LaneCore.mostOfDevice {
            problem("\(most) of a device are held")
        }
        for record in core.held.values {
            let (record, order) = (
                record.record, core.partitions[record.record.partition]?.orders[record.stream.kind.index]
            )
            let older = order?.count(before: record.source, record.device) ?? 0
            if let line = order?.line(of: record.device), (0..<older).contains(where: { line[$0].state != .held }) {
                problem("\(record.source) of \(record.device) is held behind one that is not")
            }
        }
        let wanted = core.partitions.values.map { state in
            [state.turns, state.hops].map { $0.reduce(0) { $0 + $1.count } }
        }
        if core.turnCount != wanted.reduce(0, { $0 + $1[0] }) || core.hopCount != wanted.reduce(0, { $0 + $1[1] }) {
            problem("\(wanted) are wanted, \(core.turnCount) and \(core.hopCount) are counted")
        }
        let sizes = core.held.values.reduce(0) { $0 + $1.record.size }
        if core.heldBytes != sizes { problem("\(sizes) bytes are held, \(core.heldBytes) are counted") }
    }

    private func problem(_ text: String) {
        simulation.problems.append("at \(simulation.now - LaneSimulation.start): process \(owner.process): \(text)")
    }
}
