import Arguments
import KafkaClient
import Pipeline
import Telemetry

/// `carillon topics check`
struct TopicsCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Say what is missing or different in the pipeline's topics; ends with 1 if anything is.",
        examples: [
            ("carillon topics check -b localhost:9092", "Settings that matter for correctness."),
            ("carillon topics check -b localhost:9092 --partitions 24 --replication-factor 3", "These numbers, too."),
        ])

    @OptionGroup(title: "Topics") var topics: TopicOptions
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.checked()
        let admin = try Admin(settings: configuration.kafka, logger: configuration.clientSink)
        let (plan, existing) = try topics.survey(configuration, admin)
        let differences = plan.flatMap { topic in
            // --partitions applies only to topics that are not small.
            let partitions = topic.role.growsWithLoad ? topics.partitions : nil
            return existing[topic.name].map {
                topic.differences(
                    from: $0, partitions: partitions, replicationFactor: topics.replicationFactor)
            } ?? ["\(topic.name): there is no such topic; 'carillon topics create' makes it"]
        }
        for line in plan.flatMap({ topic in existing[topic.name].map(topic.advice) ?? [] }) {
            Terminal.complain("note: \(line)\n")
        }
        if !configuration.topics.commands.isEmpty {
            let topics = configuration.topicsWithPeople
            for topic in plan where topics.contains(topic.name) {
                if let line = existing[topic.name].flatMap(topic.memory) { Terminal.complain("note: \(line)\n") }
            }
        }
        if existing[configuration.topics.subscriptions] != nil { noteUnreadable(configuration) }
        guard differences.isEmpty else {
            Terminal.write(differences.map { $0.inOneLine + "\n" }.joined())
            let count = differences.count
            throw CommandFailure(
                .difference, count == 1 ? "1 difference in the topics" : "\(count) differences in the topics")
        }
        Terminal.write("All \(plan.count) topics are as they should be.\n")
    }

    /// Reads the subscriptions, and says of each batch that cannot be read that a change may be lost.
    private func noteUnreadable(_ configuration: PipelineConfiguration) {
        let topic = configuration.topics.subscriptions
        do {
            var consumer = try Consumer(assigning: configuration.kafka, logger: { _ in })
            let bounds = try consumer.explaining { consumer throws(KafkaError) in
                try consumer.bounds(of: topic, timeout: .seconds(30))
            }
            try TopicReader.read(bounds, of: topic, with: &consumer) { batch, _ in
                for unreadable in batch.unreadable {
                    let offsets = unreadable.offsets
                    Terminal.complain(
                        "note: \(unreadable.partition): offsets \(offsets.lowerBound) to \(offsets.upperBound) cannot be read: "
                            + "a change may be lost\n")
                }
            }
        } catch {
            Terminal.complain("note: \(topic) was not read for batches that cannot be: \(error)\n")
        }
    }
}
