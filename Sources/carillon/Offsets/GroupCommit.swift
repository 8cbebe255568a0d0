import Foundation
import KafkaClient
import Pipeline

/// Commits offsets for a group from outside. The broker accepts that only if the group has no members.
struct GroupCommit {
    private let configuration: PipelineConfiguration
    private let group: String

    init(_ configuration: PipelineConfiguration, group: String) {
        self.configuration = configuration
        self.group = group
    }

    /// Static members stay in the group until their session expires, and the broker answers UNKNOWN_MEMBER_ID until
    /// then: retried for that long, and a little longer.
    func commit(
        _ offsets: [TopicPartition: CommittedOffset], with consumer: borrowing Consumer
    ) throws {
        let deadline = ContinuousClock.now + configuration.sessionTimeout + .seconds(5)
        var hasSaid = false
        while let refusal = Self.refusal(offsets, consumer) {
            guard refusal.kind == .unknownMember || refusal.kind == .rebalanceInProgress else { throw refusal }
            guard ContinuousClock.now < deadline else { throw failure() }
            if !hasSaid { Terminal.complain("The group has members; waiting until they have expired …\n") }
            hasSaid = true
            // The broker does not notify: polling is the only way to know.
            usleep(500_000)
        }
    }

    /// nil: committed.
    private static func refusal(
        _ offsets: [TopicPartition: CommittedOffset], _ consumer: borrowing Consumer
    ) -> KafkaError? {
        do {
            try consumer.commit(offsets, timeout: .seconds(10))
            return nil
        } catch {
            return error
        }
    }

    private func failure() -> CommandFailure {
        let members = (try? Admin(settings: configuration.kafka).describe(group: group).members) ?? []
        let names = members.map { "\($0.instanceID ?? $0.memberID) on \($0.host)" }.sorted()
        let who = names.isEmpty ? "" : ": " + names.joined(separator: ", ")
        return CommandFailure(
            .inUse,
            "group \(group) has live members\(who); stop every process of it, then try again")
    }
}
