import Arguments
import Foundation
import Pipeline

/// `carillon table check`
struct TableCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Read every entry of the stored table, and say how many there are.",
        discussion: "Needs no broker. Ends with 1 if the table is damaged. Refused while a process works with it.",
        examples: [("carillon table check --group carillon --instance host-1", "That instance's table.")])

    @Flag(help: "Print one JSON document.") var json: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions
    @OptionGroup(title: "Configuration") var process: InstanceOption
    @OptionGroup(title: "Configuration") var folder: StateFolderOption

    func run() async throws {
        let configuration = try options.checked(adding: process.flags + folder.flags, needsBroker: false)
        let path = configuration.stateDirectory
        guard FileManager.default.fileExists(atPath: path + "/subscriptions") else {
            throw CommandFailure(.difference, "state.dir: there is no table in \(path)")
        }
        let folder = try StateFolder(path: path)
        DamageSignals.handle()
        let report = TableReport(try SubscriptionTable.inspect(directory: folder.table), path: folder.table)
        try Output.print(report, json: json)
        if let reason = report.wiped {
            throw CommandFailure(.difference, "\(folder.table) has been wiped: \(reason)")
        }
    }
}

/// A damaged file can have LMDB follow a page number out of the file, which the system ends with a signal.
private enum DamageSignals {
    /// From now on such a signal is a sentence and exit code 1.
    static func handle() {
        for number in [SIGSEGV, SIGBUS, SIGABRT] {
            signal(number) { _ in
                // Nothing else may be called in a signal's handler.
                let text: StaticString = "carillon: the table is damaged: LMDB could not read it to its end\n"
                write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
                _exit(ExitCode.difference.rawValue)
            }
        }
    }
}

/// The contents of the stored table.
private struct TableReport: Report {
    var path: String
    var devices: Int
    var topic: String
    var checkpoint: WallTime?
    /// Whether it was read to its topic's end.
    var complete: Bool
    /// The next offset to read, by partition.
    var offsets: [Int64]
    /// Equal for two tables with equal contents.
    var digest: String
    var wiped: String?

    init(_ inspection: TableInspection, path: String) {
        self.path = path
        devices = inspection.devices
        topic = inspection.topic
        checkpoint = inspection.checkpointTime
        complete = inspection.isComplete
        offsets = inspection.offsets
        digest = inspection.digest
        wiped = inspection.wiped
    }

    var rows: [Row] {
        var table = TextTable(["TABLE", path])
        table.append(["devices", ProgressLine.grouped(devices) + ", every one read and sound"])
        table.append(["topic", topic.isEmpty ? "-" : topic])
        table.append(["checkpoint", checkpoint?.description ?? "-"])
        table.append(["complete", complete ? "yes" : "no: the next start fills it again"])
        table.append(["next offsets", offsets.isEmpty ? "-" : offsets.map(String.init).joined(separator: " ")])
        table.append(["digest", digest])
        return [.table(table)]
    }
}
