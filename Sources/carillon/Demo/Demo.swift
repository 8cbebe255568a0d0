import API
import Foundation
import KafkaClient
import Pipeline
import ProviderStandIn

/// An embedded Kafka, the stand-ins of FCM and APNs, and the settings of everything that runs on them.
///
/// Each service has one worker, and none leaves before the end: the mock loses the offsets of a transaction, so a rebalance
/// would process everything again.
struct Demo {
    let cluster: MockCluster
    let providers: StandInProviders
    let configuration: PipelineConfiguration
    let logger: Logger
    /// With which a backend asks the API.
    let apiKey = APIKey(.live)
    let shop: DemoShop

    /// - Parameter folder: exists; keys, certificates and the tables are in it.
    init(folder: PrivateFolder, logLevel: Logger.Level) throws {
        cluster = try MockCluster(brokers: 1)
        providers = try StandInProviders(folder: folder.path)
        shop = try DemoShop()
        var configuration = PipelineConfiguration(
            kafka: ["bootstrap.servers": cluster.bootstrapServers], stateDirectory: folder.path + "/state",
            rules: try .init(), instanceID: "demo", workers: 1)
        configuration.from = .earliest
        configuration.sessionTimeout = .seconds(6)
        configuration.topics.requests = "notifications.requests"
        configuration.topics.broadcasts = "notifications.broadcasts"
        configuration.topics.commands = "notifications.commands"
        configuration.topics.control = "notifications.control"
        configuration.topics.receipts = "notifications.receipts"
        configuration.rendering.display = try DemoSamples.texts()
        configuration.rendering.broadcastLanguage = .device
        configuration.delivery.credentials = [
            ProviderCredential(name: "fcm", source: .serviceAccount(file: providers.serviceAccountFile)),
            ProviderCredential(
                name: "apns",
                source: .providerKey(
                    file: providers.apnsKeyFile, keyID: APNSStandIn.keyID, teamID: APNSStandIn.teamID)),
        ]
        configuration.delivery.fcmURL = providers.fcmURL
        configuration.delivery.apnsURL = providers.apnsURL
        configuration.delivery.caFile = providers.caFile
        configuration.delivery.retries = [.seconds(1)]
        configuration.delivery.reaps = false
        configuration.api.http = ListenAddress(host: "127.0.0.1", port: 0)
        configuration.api.keys = folder.path + "/keys.json"
        configuration.api.issuers = folder.path + "/issuers.json"
        configuration.api.events = true
        // A registrar on a busy machine may need longer than by default.
        configuration.api.wait = .seconds(20)
        let scopes: [APIScope] = [.send, .writeEvents, .readTraces]
        try KeyFile.write(KeyRing([KeyEntry(apiKey, scopes: scopes)]), to: configuration.api.keys)
        try StandInProviders.write(shop.issuers, to: configuration.api.issuers)
        self.configuration = configuration
        logger = Logger(label: "carillon", level: logLevel)
        let topics = configuration.topics
        let sent = [topics.dispatch, topics.broadcastDispatch]
        let all =
            [
                topics.events, topics.requests, topics.subscriptions, topics.deadLetters, topics.journal,
                topics.broadcasts, topics.broadcastJournal, topics.deliveries, topics.commands, topics.devices,
                topics.people, topics.erasures, topics.verdicts, topics.control, topics.receipts,
            ] + sent + sent.flatMap(configuration.delivery.retryTopics)
        for topic in all { try cluster.createTopic(topic, partitions: 1) }
    }

    func write(_ records: [ProducerRecord], to topic: String) throws {
        var producer = try Producer(settings: configuration.kafka)
        let target = try producer.topic(topic)
        for record in records { try producer.produce(record, to: target) }
        try producer.flush(timeout: .seconds(10))
        if let failure = producer.takeFailures().first { throw failure.error }
    }

    func read(_ topic: String) throws -> [ConsumerRecord] {
        var consumer = try Consumer(assigning: configuration.kafka)
        try consumer.assign([TopicPartition(topic: topic, partition: 0): Offset(0)])
        var records: [ConsumerRecord] = []
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            guard .now < deadline else { throw CommandFailure(.notInTime, "demo: \(topic) could not be read in 30 s") }
            let found = consumer.read(limit: 1_000, timeout: .milliseconds(100))
            records += found.records
            if !found.endsOfPartition.isEmpty { return records }
        }
    }
}
