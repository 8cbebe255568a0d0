import Arguments
import FanOut
import Foundation
import Pipeline

/// `carillon render`
struct RenderCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "render",
        abstract: "Show what the pipeline would write for records, without Kafka.",
        discussion: """
            Reads records as JSON lines: in the envelope that `kcat -J` prints, or as bare events (topic orders.events, \
            partition 0, offset = line number from 0). Writes records for the dispatch topic and the dead letters in the \
            same envelope. The same input gives the same bytes. kcat -J is not byte-safe: bytes that are not UTF-8 are \
            read and written as payload_base64.
            """,
        examples: [
            ("carillon render --subscriptions Examples/subscriptions.jsonl Examples/events.jsonl", "Test your rules."),
            (
                "kcat -b localhost -t orders.events -C -e -J | carillon render --subscriptions s.jsonl --explain",
                "From a topic."
            ),
            (
                "carillon render --time-zone Europe/Berlin --place-time-zones 42=Asia/Tokyo events.jsonl",
                "With time zones."
            ),
        ])

    @Argument(help: "Files of JSON lines; standard input where there is none.", completion: .file)
    var files: [String] = []
    @Option(help: "Subscriptions as JSON lines; without them nobody is notified.", valueName: "file", completion: .file)
    var subscriptions: String?
    @Flag(help: "Add the source of each field, and a line for each event that notifies nobody.") var explain: Bool
    @Option(help: "time-zone, for values with an offset; UTC by default.", valueName: "zone") var timeZone: String?
    @Option(help: "place-time-zones.", valueName: "id=zone,…|@file") var placeTimeZones: String?
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func validate() -> [String] { options.validate() }

    func run() async throws {
        var flags: [ConfigurationLoader.Flag] = []
        if let timeZone { flags.append(.init(name: "--time-zone", key: "time-zone", value: timeZone)) }
        if let placeTimeZones {
            flags.append(.init(name: "--place-time-zones", key: "place-time-zones", value: placeTimeZones))
        }
        let configuration = try options.checked(adding: flags, needsBroker: false)
        let table = SubscriptionTable.inMemory()
        if let subscriptions {
            let problems = try RenderRun.load(subscriptions, into: table)
            for problem in problems { Terminal.complain("carillon: \(subscriptions): \(problem)\n") }
        }
        var render = try RenderRun(
            rules: configuration.rules, rendering: configuration.rendering, subscriptions: table,
            maxAge: configuration.subscriptionsMaxAge, maxDevicesPerEvent: configuration.maxDevicesPerEvent,
            topics: configuration.topics, explains: explain, output: STDOUT_FILENO)
        do {
            for file in files.isEmpty ? ["-"] : files { try render.render(path: file) }
        } catch let error as FileError where error.isBrokenPipe {
            // The reader has seen enough: `carillon render … | head`.
        }
    }
}
