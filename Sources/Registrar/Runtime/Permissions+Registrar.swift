import Hosting
import Pipeline

extension Permissions {
    /// Those of the registrar.
    init(registrarOf configuration: PipelineConfiguration) {
        let topics = configuration.topics
        let group = configuration.registrarGroup
        self.init(
            configuration.kafka, group: .named(group), transactionalIDs: .prefix("\(group)."),
            committed: [topics.commands], followed: topics.foldedByRegistrar,
            written: topics.foldedByRegistrar + [topics.verdicts] + topics.withdrawing)
    }
}
