import Extraction
import FanOut
import KafkaClient
import Synchronization
import Telemetry

/// What the workers of a process share. Any thread.
final class WorkerContext: Sendable {
    let configuration: PipelineConfiguration
    let audienceRule: any AudienceRule
    let recipients: Recipients
    let gate: TableGate
    let patience: Patience
    let meter: PipelineMeter
    /// The hash of the rules, which every journal entry carries.
    let rulesHash: String
    /// Finish the open transaction, commit and end.
    let isDraining = Atomic<Bool>(false)
    /// End at once: what is open is left to time out.
    let isStopping = Atomic<Bool>(false)

    init(
        configuration: PipelineConfiguration, audienceRule: any AudienceRule, recipients: Recipients, gate: TableGate,
        patience: Patience, meter: PipelineMeter
    ) {
        self.configuration = configuration
        self.audienceRule = audienceRule
        self.recipients = recipients
        self.gate = gate
        self.patience = patience
        self.meter = meter
        self.rulesHash = RulesHash(rules: configuration.rules, rendering: configuration.rendering).text
    }

    var mustEnd: Bool { isDraining.load(ordering: .acquiring) || isStopping.load(ordering: .acquiring) }
    var mustStop: Bool { isStopping.load(ordering: .acquiring) }
}

/// The name of one worker in the group: `<instance.id>-<n>`.
struct Slot: Hashable, Sendable, CustomStringConvertible {
    var instance: String
    var number: Int

    var description: String { "\(instance)-\(number)" }

    func transactionalID(group: String) -> String { "\(group).\(self)" }
    func groupInstanceID(group: String) -> String { "\(group).\(self)" }
}
