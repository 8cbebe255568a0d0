import Arguments
import FanOut
import Foundation
import KafkaClient
import Pipeline
import Telemetry

/// `carillon demo`
struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Run the whole pipeline on an embedded Kafka cluster with sample events, and show every push.",
        discussion: """
            Real consumers, real producers and the real protocol, on librdkafka's in-process mock cluster. It shows what \
            the pipeline does; it cannot show exactly-once, since the mock's transactions isolate nothing.
            """,
        examples: [
            ("carillon demo", "With the samples of the current checkout."),
            ("carillon demo --events my-events.jsonl --subscriptions my-subscriptions.jsonl", "With your own."),
        ])

    @Option(help: "Events as JSON lines.", valueName: "file", completion: .file) var events = "Examples/events.jsonl"
    @Option(help: "Subscriptions as JSON lines.", valueName: "file", completion: .file)
    var subscriptions = "Examples/subscriptions.jsonl"
    @Option(help: "Worker threads.", valueName: "count") var workers = 2
    @Flag(help: "Show the pipeline's own log too.") var verbose: Bool

    func run() async throws {
        let samples = try RecordFile.records(path: events)
        let subscribers = try RecordFile.subscriptions(path: subscriptions)
        let demo = try Demo(workers: workers, logLevel: verbose ? .info : .error)
        Terminal.complain("An embedded cluster is up; \(workers) workers join (this takes three seconds) …\n")
        let reading = try await demo.run(subscribers: subscribers, events: samples)
        for line in try demo.outcome() { Terminal.write(line + "\n") }
        Terminal.write("\n" + DemoSummary.text(reading.reading, seconds: reading.seconds))
    }
}
