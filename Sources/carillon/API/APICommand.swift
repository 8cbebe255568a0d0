import Arguments

/// `carillon api …`
struct APICommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "api",
        abstract: "Take requests for notifications over HTTP, and make the keys for it.",
        examples: [
            ("carillon api key create --scope send --note shop --file keys.json", "A key that may send."),
            ("carillon api --config carillon.properties --listen 127.0.0.1:8080", "Takes requests."),
        ],
        subcommands: [APIRunCommand.self, KeyCommand.self],
        defaultSubcommand: APIRunCommand.self)
}

/// `carillon api key`
struct KeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Make, list and revoke the keys of the HTTP API.",
        discussion:
            "The file has what each key may and the SHA-256 of its text, never the key. To change one, make another, let "
            + "both work until every client has it, and revoke the first.",
        examples: [
            ("carillon api key create --scope send --file keys.json", "A key that may send."),
            ("carillon api key revoke 7Hq2mZ9b --file keys.json", "Ends a key."),
        ],
        subcommands: [KeyCreateCommand.self, KeyListCommand.self, KeyRevokeCommand.self])
}
