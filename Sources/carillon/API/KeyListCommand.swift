import API
import Arguments
import JSONReader
import Telemetry
import Time

/// `carillon api key list`
struct KeyListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the keys of a file, and what each may.",
        examples: [("carillon api key list --file keys.json --json", "As JSON lines.")])

    @Option(help: "The file of keys.", valueName: "file", completion: .file) var file: String
    @Flag(help: "Print JSON lines.") var json: Bool

    func run() async throws {
        let now = WallClock.now
        let rows = try KeyRing.read(file).entries.map { KeyRow($0, now: now) }
        try Output.print(lines: rows, json: json, footer: ProgressLine.counted(rows.count, "key"))
    }
}

private struct KeyRow: TableRow {
    static let heading = ["id", "scopes", "audiences", "apps", "expires", "note"]
    var id: String
    var scopes: [String]
    var audiences: [String]
    var apps: [String]
    var created: WallTime?
    var expires: WallTime?
    var isExpired: Bool
    var note: String

    init(_ entry: KeyEntry, now: WallTime) {
        (id, audiences, apps, note) = (entry.id, entry.audiences, entry.apps, entry.note)
        scopes = entry.scopes.map(\.rawValue)
        (created, expires) = (entry.created, entry.expires)
        isExpired = entry.expires.map { $0 <= now } ?? false
    }

    var cells: [String] {
        func list(_ texts: [String]) -> String { texts.isEmpty ? "all" : texts.joined(separator: ",") }
        let end = expires.map { $0.iso8601 + (isExpired ? " (over)" : "") } ?? "never"
        return [id, list(scopes), list(audiences), list(apps), end, note]
    }
}

extension KeyRing {
    static func read(_ path: String) throws(CommandFailure) -> KeyRing {
        var file = KeyFile(path)
        do {
            return try file.read() ?? KeyRing([])
        } catch {
            throw CommandFailure(.usage, lines: error.problems.map { "--file \(path): \($0)" })
        }
    }
}
