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
            ("carillon topics create -b localhost:9092 --small", "One partition each, to try things out."),
            ("carillon topics create --config carillon.properties --partitions 24 --replication-factor 3", "Larger."),
            (
                "carillon topics create -b localhost:9092 --dry-run",
                "Ask the broker whether it could, and create nothing."
            ),
        ])

    @Flag(help: "One partition for each topic, which one worker reads: for a first try, or a small shop.") var small:
        Bool
    @Flag(help: "Create nothing; let the broker check the request.") var dryRun: Bool
    @OptionGroup(title: "Topics") var topics: TopicOptions
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func validate() -> [String] {
        small && topics.partitions != nil
            ? ["--small and --partitions: only one of the two can say how many partitions there are"] : []
    }

    func run() async throws {
        let configuration = try options.checked()
        let admin = try Admin(settings: configuration.kafka, logger: configuration.clientSink)
        let (plan, existing) = try topics.survey(configuration, admin, isSmall: small)
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
        if small, missing.count > failures.count { Terminal.write(Self.smallText) }
        if topics.replicationFactor == nil, let copies = missing.first?.replicationFactor,
            copies < TopicOptions.usualCopies
        {
            Terminal.complain(
                "note: as many copies of each record as the cluster has brokers: \(copies) instead of "
                    + "\(TopicOptions.usualCopies). Fewer than \(TopicOptions.usualCopies) may lose what was written when a "
                    + "broker's disk is lost; --replication-factor says how many you want.\n")
        }
        for topic in plan {
            for line in existing[topic.name].map({
                topic.differences(from: $0, partitions: nil, replicationFactor: nil) + topic.advice(on: $0)
            }) ?? [] {
                Terminal.complain("note: \(line)\n")
            }
        }
        if !dryRun { waitForLeaders(of: missing.filter { (answers[$0.name] ?? nil) == nil }, configuration) }
        if let first = failures.first {
            throw CommandFailure(ExitCode(first), lines: failures.map(\.description))
        }
    }

    /// What one partition costs later (docs/topics.md, "More partitions").
    static let smallText = """
        One partition each: one worker does all the work, and a second process only stands by.
        More partitions later cost a stop: keys move, so every process has to end first, 'carillon deliver' has to
        have sent everything, and notifications.subscriptions has to be copied to a new topic (docs/topics.md, More partitions).
        If you expect more than one worker can do (docs/sizing.md), create them now without --small.

        """

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
