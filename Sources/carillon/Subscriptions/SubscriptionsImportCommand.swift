import Arguments
import Foundation
import Pipeline
import Registrar
import Replay

/// `carillon subscriptions import`
struct SubscriptionsImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Write subscriptions from a file of JSON lines.",
        discussion: "A line is a subscription's record value: audience, token, platform, app, environment, locale, "
            + "registered_at, last_seen_at. An invalid line is reported by its number and skipped; the command then "
            + "ends with 1. Importing twice changes nothing. With topic.commands, what is of a person or an address that "
            + "was erased since is left out.",
        examples: [
            ("carillon subscriptions import subscriptions.jsonl -b localhost:9092", "With progress on a terminal."),
            ("zcat subscriptions.jsonl.gz | carillon subscriptions import - --json", "From standard input."),
        ])

    @Argument(help: "JSON lines; - is standard input.", completion: .file) var file: String
    @Flag(help: "Print the summary as JSON.") var json: Bool
    @OptionGroup(title: "Rotation") var rotation: RotationOptions
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.checked()
        let headers = rotation.headers(now: WallClock.now)
        var log = try KafkaLog(configuration, logger: configuration.clientSink, isStopped: { false })
        let erased = try log.suppressionList()
        var lines = try LineReader(path: file)
        var writer = try TopicWriter(configuration.topics.subscriptions, configuration)
        var progress = ProgressLine(unit: "subscriptions")
        var summary = ImportSummary()
        let size = (try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int) ?? nil
        let start = ContinuousClock.now
        var number = 0
        var bytes = 0
        while let line = try lines.next() {
            number += 1
            bytes += line.count + 1
            guard !line.isEmpty else { continue }
            do {
                let subscription = try Subscription.decode(value: Array(line))
                guard !erased.includes(subscription) else {
                    summary.erased += 1
                    continue
                }
                try writer.write(key: subscription.key, value: subscription.encoded(), headers: headers)
                summary.imported += 1
            } catch let error as Subscription.Invalid {
                summary.malformed += 1
                progress.clear()
                if summary.malformed <= 20 { Terminal.complain("\(file):\(number): \(error)".inOneLine + "\n") }
            }
            if number % 256 == 0 {
                progress.show(summary.imported, fraction: size.map { min(1, Double(bytes) / Double(max(1, $0))) })
            }
        }
        try writer.finish()
        progress.clear()
        summary.seconds = (ContinuousClock.now - start) / .seconds(1)
        try Output.print(summary, json: json)
        if summary.malformed > 0 {
            throw CommandFailure(
                .difference,
                "\(ProgressLine.counted(summary.malformed, "line")) of \(file) are no subscriptions and were skipped")
        }
    }
}

private struct ImportSummary: Report {
    var imported = 0
    var malformed = 0
    /// Of people and addresses that were erased.
    var erased = 0
    var seconds = 0.0

    var rows: [Row] {
        // Of a few the rate says nothing but how long it took to connect.
        let rate = seconds >= 1 && imported >= 1_000 ? Int(Double(imported) / seconds) : 0
        let written = "\(ProgressLine.counted(imported, "subscription")) written in \(ProgressLine.time(seconds))"
        var rows: [Row] = [.line(written + (rate > 0 ? ", \(ProgressLine.grouped(rate))/s" : ""))]
        if erased > 0 {
            rows.append(
                .line(
                    "\(ProgressLine.counted(erased, "subscription")) of people or addresses that were erased since left out"
                ))
        }
        return rows
    }
}
