import Broadcasts
import Hosting
import Pipeline

extension Permissions {
    /// Those of the HTTP API.
    init(apiOf configuration: PipelineConfiguration) {
        let topics = configuration.topics
        let ofBroadcasts =
            topics.broadcasts.isEmpty ? [] : [topics.broadcasts, topics.broadcastJournal, topics.subscriptions]
        let control = topics.control.isEmpty ? [] : [topics.control]
        let devices =
            topics.commands.isEmpty
            ? [] : [topics.devices, topics.people, topics.erasures, topics.subscriptions, topics.verdicts]
        // It looks at the groups of broadcasts and of the registrar; which one was refused the error does not say.
        let group: Resource =
            topics.commands.isEmpty
            ? .named(BroadcastGroup.name(of: configuration)) : .prefix("\(configuration.groupID)-")
        self.init(
            configuration.kafka, group: group,
            transactionalIDs: .named(BatchWriter.transactionalID(configuration)), committed: [],
            followed: [topics.requests] + ofBroadcasts + control + devices,
            written: [topics.requests] + control + ofBroadcasts.prefix(1)
                + (topics.commands.isEmpty ? [] : topics.writtenForDevices)
                + (configuration.api.events ? [topics.events] : []))
    }
}

extension PipelineConfiguration.Topics {
    /// What is written for devices and people, with `topic.commands`.
    var writtenForDevices: [String] { [commands] + (receipts.isEmpty ? [] : [receipts]) }
}
