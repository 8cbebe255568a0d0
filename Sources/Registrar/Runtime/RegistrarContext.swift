import Hosting
import KafkaClient
import Pipeline
import Streaming
import Synchronization

/// What the threads of a registrar share. Any thread.
final class RegistrarContext: RoleContext {
    let host: RoleHost
    let configuration: PipelineConfiguration
    let feed = SubscriptionFeed()
    let clients: any Clients
    let meter: RegistrarMeter
    let board = RegistrarBoard()
    /// What the broker says about the topics that the table is the fold of.
    let log: FoldedLog
    /// Whether the stored table cannot be used any more.
    let mustWipe = Atomic<Bool>(false)

    init(
        _ host: RoleHost, _ configuration: PipelineConfiguration, log: FoldedLog, clients: any Clients = KafkaClients(),
        meter: RegistrarMeter
    ) {
        self.host = host
        self.configuration = configuration
        self.log = log
        self.clients = clients
        self.meter = meter
    }

    var group: String { configuration.registrarGroup }

    /// The folder of the table, with a lock of its own: other roles of the same instance may run beside it.
    static func folder(of configuration: PipelineConfiguration) -> String {
        configuration.stateDirectory + "/registrar"
    }

    var folder: String { Self.folder(of: configuration) }
}

extension PipelineConfiguration {
    /// The group of consumers of the registrars.
    package var registrarGroup: String { "\(groupID)-registrar" }
}

extension PipelineConfiguration.Topics {
    /// The topics that a registrar's table is the fold of.
    var foldedByRegistrar: [String] { [devices, people, erasures, subscriptions] }
    /// Where it withdraws pushes that are on their way; empty where they are not to be withdrawn.
    var withdrawing: [String] { control.isEmpty ? [] : [control] }
}
