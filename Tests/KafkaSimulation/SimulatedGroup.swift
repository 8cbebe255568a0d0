import KafkaClient

/// The coordinator of one group. A member is a number; a static one has an instance id too.
final class SimulatedGroup {
    enum News: Equatable {
        case nothing
        /// The group waits for it to join again.
        case rejoin
        case assigned([TopicPartition])
        /// The group does not know it any longer.
        case unknown
        case fenced
    }

    private struct Member {
        var instance: String?
        var topics: [String]
        var hasJoined = true
        var assigned: [TopicPartition] = []
        /// The assignment is to be fetched.
        var isNew = false
    }

    let session = Duration.seconds(10)
    private let baton: Baton
    private var members: [Int: Member] = [:]
    private var fenced: Set<Int> = []
    private(set) var generation = 0
    /// The number of the rebalance that is under way.
    private var rebalance: Int?
    private var numbers = 0
    /// Of these topics.
    var partitions: ([String]) -> [TopicPartition] = { _ in [] }

    init(_ baton: Baton) { self.baton = baton }

    func join(instance: String?, topics: [String]) -> Int {
        numbers += 1
        let number = numbers
        if let instance, let (old, member) = members.first(where: { $0.value.instance == instance }) {
            members[old] = nil
            fenced.insert(old)
            var member = member
            member.hasJoined = true
            member.isNew = rebalance == nil
            members[number] = member
            completeIfAll()
            return number
        }
        members[number] = Member(instance: instance, topics: topics)
        begin()
        return number
    }

    func rejoin(_ number: Int) {
        members[number]?.hasJoined = true
        members[number]?.assigned = []
        completeIfAll()
    }

    func remove(_ number: Int) {
        guard members.removeValue(forKey: number) != nil else { return }
        begin()
    }

    /// A heartbeat.
    func news(for number: Int) -> News {
        if fenced.contains(number) { return .fenced }
        guard let member = members[number] else { return .unknown }
        if rebalance != nil { return member.hasJoined ? .nothing : .rejoin }
        guard member.isNew else { return .nothing }
        members[number]?.isNew = false
        return .assigned(member.assigned)
    }

    /// TxnOffsetCommit of this membership.
    func accepts(_ number: Int, _ generation: Int) -> Bool {
        members[number] != nil && generation == self.generation
    }

    var summary: String { "group \(generation) \(members) rebalance \(rebalance ?? 0)" }

    private func begin() {
        if rebalance == nil {
            for number in members.keys where !(members[number]?.assigned.isEmpty ?? true) {
                members[number]?.hasJoined = false
            }
            numbers += 1
            let number = numbers
            rebalance = number
            baton.after(.seconds(60)) { [unowned self] in
                guard rebalance == number else { return }
                members = members.filter(\.value.hasJoined)
                complete()
            }
            // Others may join at once.
            baton.after(baton.milliseconds(50...500)) { [unowned self] in
                if rebalance == number { completeIfAll() }
            }
        } else {
            completeIfAll()
        }
    }

    private func completeIfAll() {
        if rebalance != nil, members.values.allSatisfy(\.hasJoined) { complete() }
    }

    /// A range of each topic's.
    private func complete() {
        rebalance = nil
        generation += 1
        let order = members.keys.sorted { (members[$0]?.instance ?? "\($0)") < (members[$1]?.instance ?? "\($1)") }
        for number in order {
            members[number]?.assigned = []
            members[number]?.isNew = true
        }
        guard let topics = order.first.flatMap({ members[$0]?.topics }) else { return }
        for topic in topics {
            for (index, partition) in partitions([topic]).enumerated() {
                members[order[index % order.count]]?.assigned.append(partition)
            }
        }
    }
}
