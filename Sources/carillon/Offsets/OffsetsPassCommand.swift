import Arguments
import Foundation
import KafkaClient
import Pipeline

/// `carillon offsets pass`
struct OffsetsPassCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pass",
        abstract: "Have a process pass a batch that takes all memory, without reading it.",
        discussion:
            "Where three processes have ended for lack of memory, the partition is held, and /ready and the log of "
            + "'carillon run' name the place. This tells the process's state folder; restart the process then. A dead "
            + "letter, unreadable_batch, takes the batch's place; in the subscriptions a change may be lost. Needs no "
            + "broker. Without --last the batch has one record: if it has more, the partition is held again.",
        examples: [
            ("carillon offsets pass orders.events/3/4711 --instance host-1", "The batch of one record at that offset."),
            ("carillon offsets pass orders.events/3/4711 --last 4720", "A batch of ten records."),
        ])

    @Argument(help: "topic/partition/offset, as /ready names it.") var place: String
    @Option(help: "The batch's last offset, as kafka-dump-log.sh shows it.", valueName: "offset") var last: Int?
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions
    @OptionGroup(title: "Configuration") var process: InstanceOption
    @OptionGroup(title: "Configuration") var folder: StateFolderOption

    func validate() -> [String] {
        guard let position = RecordPosition(parsing: place) else {
            return ["\(place) is not allowed; it must be topic/partition/offset, such as orders.events/3/4711"]
        }
        if let last, last < position.offset {
            return ["--last \(last) is not allowed; it must be \(position.offset) or more"]
        }
        return []
    }

    func run() async throws {
        guard let position = RecordPosition(parsing: place) else { return }
        let configuration = try options.checked(adding: process.flags + folder.flags, needsBroker: false)
        let held = HeldPositions.of(configuration.stateDirectory)
        guard held.contains(position) else {
            let others =
                held.isEmpty ? "nothing is held there" : "held: \(held.map(\.description).joined(separator: ", "))"
            throw CommandFailure(
                .difference, "\(place) is not held by the process of \(configuration.stateDirectory): \(others)")
        }
        let offsets = position.offset...(last.map { Int64($0) } ?? position.offset)
        try PassedBatches.add(position.partition, offsets, in: configuration.stateDirectory)
        Terminal.write(
            "\(position.partition): offsets \(offsets.lowerBound) to \(offsets.upperBound) are passed when the process has "
                + "been restarted.\n")
    }
}
