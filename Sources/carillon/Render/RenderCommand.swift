import Arguments
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
            read and written as payload_base64. The state of each order is folded, as the daemon does it, so a duplicate \
            or a status that does not change notifies nobody. Timers fire only with --until: each at the moment at which \
            it is due, by a clock that the records' timestamps move, and after the last record up to that time. Records \
            of topic.broadcasts give a record for each device of their channel; a bare one has the key that it should have.
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
            (
                "carillon render --until 2026-11-22T18:00:00Z --subscriptions s.jsonl --explain events.jsonl",
                "What tomorrow's schedule will send, and why not more."
            ),
            (
                "carillon render --set topic.broadcasts=b --topic b --subscriptions s.jsonl broadcast.json",
                "What a broadcast would be on each device."
            ),
        ])

    @Argument(help: "Files of JSON lines; standard input by default.", completion: .file)
    var files: [String] = []
    @Option(help: "Subscriptions as JSON lines; without them nobody is notified.", valueName: "file", completion: .file)
    var subscriptions: String?
    @Flag(
        help:
            "Add the source of each field, all problems of a request or broadcast, and a line for each event that notifies nobody and each dropped timer."
    )
    var explain: Bool
    @Option(help: "The topic of bare values; topic.events by default.", valueName: "name") var topic: String?
    @Option(help: "Fire what is due up to this time.", valueName: "time") var until: String?
    @Option(help: "time-zone, for values with an offset; UTC by default.", valueName: "zone") var timeZone: String?
    @Option(help: "place-time-zones.", valueName: "id=zone,…|@file") var placeTimeZones: String?
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func validate() -> [String] {
        [ReplayOptions.timeProblem("--until", until)].compactMap(\.self)
    }

    func run() async throws {
        var flags: [ConfigurationLoader.Flag] = []
        if let timeZone { flags.append(.init(name: "--time-zone", key: "time-zone", value: timeZone)) }
        if let placeTimeZones {
            flags.append(.init(name: "--place-time-zones", key: "place-time-zones", value: placeTimeZones))
        }
        let configuration = try options.checked(adding: flags, needsBroker: false)
        if until != nil, configuration.orders.schedule == nil {
            throw CommandFailure(.usage, "--until requires schedule=on; with schedule=off no timer fires")
        }
        let table = SubscriptionTable.inMemory()
        if let subscriptions {
            let problems = try table.load(subscriptions)
            for problem in problems { Terminal.warn("\(subscriptions): \(problem)") }
        }
        let findings = explain ? RequestFindings() : nil
        var render = try RenderRun(
            configuration, subscriptions: table, topic: topic, until: ReplayOptions.time(until, now: WallClock.now),
            findings: findings)
        var writer = RecordLineWriter(
            descriptor: STDOUT_FILENO, topics: configuration.topics, explains: explain,
            members: configuration.rules.members, findings: findings)
        do {
            for file in files.isEmpty ? ["-"] : files { try render.render(path: file, into: &writer) }
            try render.finish(into: &writer)
        } catch let error as FileError where error.isBrokenPipe {
            // The reader has closed the pipe: `carillon render … | head`.
        }
    }
}
