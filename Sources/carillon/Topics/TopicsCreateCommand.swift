import Arguments
import KafkaClient
import Pipeline

/// `carillon topics create`
struct TopicsCreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create the topics that are missing; those that exist stay as they are.",
        discussion: "With topic.broadcasts also those of 'carillon broadcasts', with delivery.credentials those of "
            + "'carillon deliver': outcomes and retries.",
        examples: [
            ("carillon topics create -b localhost:9092", "All of them, with the defaults."),
            ("carillon topics create --config carillon.properties --partitions 24 --replication-factor 3", "Larger."),
            (
                "carillon topics create -b localhost:9092 --dry-run",
                "Ask the broker whether it could, and create nothing."
            ),
        ])

    @Flag(help: "Create nothing; let the broker check the request.") var dryRun: Bool
    @OptionGroup(title: "Topics") var topics: TopicOptions
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.checked()
        let admin = try Admin(settings: configuration.kafka, logger: configuration.clientSink)
        let (plan, existing) = try topics.survey(configuration, admin)
        let missing = plan.filter { existing[$0.name] == nil }
        let answers = try missing.isEmpty ? [:] : admin.createTopics(missing.map(\.newTopic), validateOnly: dryRun)

        var table = TextTable(["TOPIC", "PARTITIONS", "REPLICAS", "RESULT", "SETTINGS"])
        var failures: [KafkaError] = []
        for topic in plan {
            if let found = existing[topic.name] {
                table.append([topic.name, "\(found.partitions)", "\(found.replicationFactor)", "exists", ""])
                continue
            }
            let error = answers[topic.name] ?? nil
            if var error {
                error.operation = topic.name
                failures.append(error)
            }
            let settings = topic.properties.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
            let result = error != nil ? "failed" : dryRun ? "would be created" : "created"
            table.append([topic.name, "\(topic.partitions)", "\(topic.replicationFactor)", result, settings])
        }
        Terminal.write(table.text)
        for topic in plan {
            for line in existing[topic.name].map({
                topic.differences(from: $0, partitions: nil, replicationFactor: nil)
            }) ?? [] {
                Terminal.complain("note: \(line)\n")
            }
        }
        if !dryRun { waitForLeaders(of: missing.filter { (answers[$0.name] ?? nil) == nil }, configuration) }
        if let first = failures.first {
            throw CommandFailure(ExitCode(first), lines: failures.map(\.description))
        }
    }

    /// The broker answers before the leaders are elected, and the next command should find them. Waits for at most 30
    /// s; if it takes longer, or cannot be queried, the command still succeeds: the topics exist.
    private func waitForLeaders(of topics: [TopicPlan], _ configuration: PipelineConfiguration) {
        let partitions = topics.flatMap { topic in
            (0..<Int32(topic.partitions)).map { TopicPartition(topic: topic.name, partition: $0) }
        }
        guard let consumer = try? Consumer(assigning: configuration.kafka, logger: configuration.clientSink) else {
            return
        }
        let deadline = ContinuousClock.now + .seconds(30)
        while .now < deadline {
            do throws(KafkaError) {
                _ = try consumer.endOffsets(partitions, timeout: .seconds(5))
                return
            } catch {
                guard error.recovery == .retry else { return }
            }
        }
    }
}
