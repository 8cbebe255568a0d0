import Arguments
import KafkaClient
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
        guard differences.isEmpty else {
            Terminal.write(differences.map { $0.inOneLine + "\n" }.joined())
            let count = differences.count
            throw CommandFailure(
                .difference, count == 1 ? "1 difference in the topics" : "\(count) differences in the topics")
        }
        Terminal.write("All \(plan.count) topics are as they should be.\n")
    }
}
