import Arguments
import Foundation
import KafkaClient
import Pipeline

/// `carillon orders list-event`
struct OrdersListEventCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list-event",
        abstract: "Write an ORDER_IDS_LISTED event: one notification for each order id.",
        discussion: """
            The record goes to the events topic with the place as its key, and is never part of an order's state. Without \
            --date and --start the notifications have the event's day and the whole of it. The event is checked by the \
            pipeline's own rules before it is written. To write one again, give its --event-id: its notifications then \
            have the same message ids, by which an app drops a repetition.
            """,
        examples: [
            ("carillon orders list-event -b localhost:9092 --place 42 --ids 4711,4712", "Two orders."),
            (
                "carillon orders list-event --place 42 --ids @ids.txt --date 2026-11-22 --start 14:00 --end 16:00",
                "An id on each line of a file, with a slot."
            ),
            (
                "carillon orders list-event --place 42 --ids 4711 --dry-run | carillon render --subscriptions s.jsonl",
                "What it would send."
            ),
        ])

    @Option(help: "The place whose devices are notified.", valueName: "id") var place: String
    @Option(help: "Order ids; repeatable.", valueName: "id,…|@file") var ids: [String] = []
    @Option(help: "The delivery date.", valueName: "YYYY-MM-DD") var date: String?
    @Option(help: "When the slot starts.", valueName: "HH:MM") var start: String?
    @Option(help: "When the slot ends.", valueName: "HH:MM") var end: String?
    @Option(name: [.customLong("event-id")], help: "The event's identity; a new one by default.", valueName: "id")
    var eventID: String?
    @Flag(help: "Print the event and write nothing.") var dryRun: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func validate() -> [String] {
        (ids.isEmpty ? ["--ids is missing"] : []) + options.validate()
    }

    func run() async throws {
        let configuration = try options.checked(needsBroker: !dryRun)
        let request = ListRequest(
            eventID: eventID ?? UUID().uuidString.lowercased(), time: WallClock.now,
            place: place, ids: try ids.flatMap(Self.ids), date: date, start: start, end: end)
        let count = try request.check(configuration.rules, topic: configuration.topics.events)
        let event = try request.encoded()
        if dryRun { return Terminal.write(event + "\n") }
        var writer = try TopicWriter(configuration.topics.events, configuration)
        try writer.write(key: place, value: Array(event.utf8))
        try writer.finish()
        Terminal.write("listed \(ProgressLine.grouped(count)) orders to place/\(place), event \(request.eventID)\n")
    }

    /// `a,b`, or `@file` with an id on each line.
    private static func ids(_ word: String) throws -> [String] {
        var text = word
        if word.hasPrefix("@") {
            guard let data = FileManager.default.contents(atPath: String(word.dropFirst())) else {
                throw CommandFailure(.usage, "--ids \(word): the file cannot be read")
            }
            text = String(decoding: data, as: UTF8.self)
        }
        return text.split { $0 == "," || $0.isNewline }.map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
    }
}
