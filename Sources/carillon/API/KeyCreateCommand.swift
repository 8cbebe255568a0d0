import API
import Arguments
import Foundation
import Pipeline
import Telemetry

/// `carillon api key create`
struct KeyCreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make a key, and print it once.",
        discussion: "With --file the key is added to it; without, its line for the file is printed.",
        examples: [
            (
                "carillon api key create --scope send --audience 'place/*' --expires-in 90d --note shop --file keys.json",
                "For a backend that notifies places."
            ),
            ("carillon api key create --scope trace:read", "The key and its line, for a file that is kept elsewhere."),
        ])

    @Option(help: "What the key may do; several are allowed.") var scope: [APIScope]
    @Option(help: "An audience that it may reach, * at its end for any rest; all by default.", valueName: "audience")
    var audience: [String]
    @Option(help: "An app that it may reach; all by default.", valueName: "id") var app: [String]
    @Option(help: "Who has it, for people.", valueName: "text") var note: String?
    @Option(
        name: [.customLong("expires-in")], help: "How long it works, such as 90d; for ever by default.",
        valueName: "time")
    var expiresIn: String?
    @Option(help: "Requests a second; the setting's by default.", valueName: "n") var rate: Int?
    @Option(help: "Where it works.") var environment: APIKey.Environment = .live
    @Option(help: "The file of keys.", valueName: "file", completion: .file) var file: String?
    @Flag(help: "Print JSON.") var json: Bool

    func run() async throws {
        guard !scope.isEmpty else {
            let allowed = APIScope.allCases.map(\.rawValue).joined(separator: ", ")
            throw CommandFailure(.usage, "--scope is missing; allowed are \(allowed)")
        }
        let now = WallClock.now
        let key = APIKey(environment)
        var entry = KeyEntry(key, scopes: scope)
        (entry.audiences, entry.apps, entry.note, entry.rate, entry.created) = (audience, app, note ?? "", rate, now)
        if let expiresIn {
            guard let time = ConfigurationText.duration(expiresIn), time > .zero else {
                throw CommandFailure(
                    .usage, "--expires-in is '\(expiresIn)'; allowed is a time such as 12h or 90d")
            }
            entry.expires = now + time.wholeMilliseconds
        }
        let entries =
            try file.map { FileManager.default.fileExists(atPath: $0) ? try KeyRing.read($0).entries : [] } ?? []
        let ring = KeyRing(entries + [entry])
        do {
            // By the reader's own rules: a file that it would refuse is not written.
            _ = try KeyRing(json: Array(ring.json.utf8))
            if let file { try KeyFile.write(ring, to: file) }
        } catch {
            throw CommandFailure(.usage, lines: error.problems)
        }
        let line = file == nil ? entry.document.json : nil
        try Output.print(NewKey(key: key.text, id: key.id, line: line), json: json)
    }
}

private struct NewKey: Report {
    var key: String
    var id: String
    var line: String?

    var rows: [Row] {
        [.pair("key", key), .pair("id", id)] + (line.map { [.pair("line", $0)] } ?? [])
            + [.line("The key is shown once: nothing has it but you.")]
    }
}

extension APIScope: ExpressibleByArgument {}
extension APIKey.Environment: ExpressibleByArgument {}
