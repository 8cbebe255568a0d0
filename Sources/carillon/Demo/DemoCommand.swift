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
        abstract:
            "Run the whole pipeline on an embedded Kafka cluster with sample events and requests, and show every push.",
        discussion: """
            Real consumers, real producers and the real protocol, on librdkafka's in-process mock cluster. It shows what \
            the pipeline does; it cannot show exactly-once, since the mock's transactions isolate nothing.
            """,
        examples: [
            ("carillon demo", "With the samples of the current checkout."),
            ("carillon demo --deliver", "The pushes are also sent, to stand-ins of FCM and APNs in this process."),
            ("carillon demo --events my-events.jsonl --subscriptions my-subscriptions.jsonl", "With your own."),
        ])

    @Option(help: "Events as JSON lines.", valueName: "file", completion: .file) var events = Self.sampleEvents
    @Option(
        help: "Requests as JSON lines; by default those of the checkout, beside its events.", valueName: "file",
        completion: .file)
    var requests: String?
    @Option(
        help: "A broadcast as one line of JSON; by default that of the checkout, beside its events.", valueName: "file",
        completion: .file)
    var broadcast: String?
    @Option(help: "Subscriptions as JSON lines.", valueName: "file", completion: .file)
    var subscriptions = "Examples/subscriptions.jsonl"
    @Option(help: "Worker threads.", valueName: "count") var workers = 2
    @Flag(help: "Send the pushes to stand-ins of FCM and APNs, and show each request and each outcome.")
    var deliver: Bool
    @Flag(help: "Show the pipeline's own log too.") var verbose: Bool

    private static let sampleEvents = "Examples/events.jsonl"

    func run() async throws {
        let samples = try RecordFile.records(path: events)
        let file = requests ?? (events == Self.sampleEvents ? "Examples/demo-requests.jsonl" : nil)
        let asked = try file.map { try RecordFile.records(path: $0) } ?? []
        let subscribers = try RecordFile.subscriptions(path: subscriptions)
        let demo = try Demo(workers: workers, logLevel: verbose ? .info : .error)
        Terminal.complain("An embedded cluster is up; \(workers) workers join (this takes three seconds) …\n")
        let reading = try await demo.run(subscribers: subscribers, events: samples, requests: asked)
        for line in try demo.outcome() { Terminal.write(line + "\n") }
        if let message = try announcement() {
            Terminal.complain("A broadcast goes to everybody of a channel, and to a device that joins afterwards …\n")
            for line in try await demo.broadcast(message) { Terminal.write(line + "\n") }
        }
        if deliver {
            Terminal.complain("A sender starts; stand-ins of FCM and APNs answer it (this takes a few seconds) …\n")
            for line in try await demo.deliver() { Terminal.write(line + "\n") }
        }
        Terminal.write("\n" + DemoSummary.text(reading.reading, requests: asked.count, seconds: reading.seconds))
    }

    /// The value of the broadcast's record.
    private func announcement() throws -> [UInt8]? {
        let file = broadcast ?? (events == Self.sampleEvents ? "Examples/demo-broadcast.json" : nil)
        return try file.flatMap { try RecordFile.records(path: $0).first?.value }
    }
}
