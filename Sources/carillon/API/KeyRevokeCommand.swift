import API
import Arguments

/// `carillon api key revoke`
struct KeyRevokeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Take a key out of a file.",
        examples: [("carillon api key revoke 7Hq2mZ9b --file keys.json", "Its requests are refused from then on.")])

    @Argument(help: "The key's id, which stands behind the second _ of it.") var id: String
    @Option(help: "The file of keys.", valueName: "file", completion: .file) var file: String

    func run() async throws {
        let entries = try KeyRing.read(file).entries
        let left = entries.filter { $0.id != id }
        guard left.count < entries.count else {
            throw CommandFailure(.usage, "\(file) has no key '\(id)'; carillon api key list shows all")
        }
        do {
            try KeyFile.write(KeyRing(left), to: file)
        } catch {
            throw CommandFailure(.configuration, lines: error.problems)
        }
    }
}
