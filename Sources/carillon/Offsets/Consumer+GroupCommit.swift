import Foundation
import KafkaClient
import Pipeline

extension Consumer {
    /// Commits offsets for its group from outside. The broker accepts that only if the group has no members. Static ones
    /// stay until their session expires, and the broker answers UNKNOWN_MEMBER_ID until then: retried for that long, and a
    /// little longer.
    func commit(
        _ offsets: [TopicPartition: CommittedOffset], for group: String, _ configuration: PipelineConfiguration
    ) throws {
        let deadline = ContinuousClock.now + configuration.sessionTimeout + .seconds(5)
        var hasSaid = false
        while let refusal = refusal(of: offsets) {
            guard refusal.kind == .unknownMember || refusal.kind == .rebalanceInProgress else { throw refusal }
            guard ContinuousClock.now < deadline else { throw Self.liveMembers(of: group, configuration) }
            if !hasSaid { Terminal.complain("The group has members; waiting until they have expired …\n") }
            hasSaid = true
            // The broker does not notify: polling is the only way to know.
            usleep(500_000)
        }
    }

    /// nil: committed.
    private func refusal(of offsets: [TopicPartition: CommittedOffset]) -> KafkaError? {
        do {
            try commit(offsets, timeout: .seconds(10))
            return nil
        } catch {
            return error
        }
    }

    private static func liveMembers(of group: String, _ configuration: PipelineConfiguration) -> CommandFailure {
        let members = (try? Admin(settings: configuration.kafka).describe(group: group).members) ?? []
        let names = members.map { "\($0.instanceID ?? $0.memberID) on \($0.host)" }.sorted()
        let who = names.isEmpty ? "" : ": " + names.joined(separator: ", ")
        return CommandFailure(
            .inUse,
            "group \(group) has live members\(who); stop every process of it, then try again")
    }
}
