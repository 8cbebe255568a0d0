import Arguments
import Pipeline

/// `carillon unsubscribe`
struct UnsubscribeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unsubscribe",
        abstract: "Unsubscribe a device from an audience.",
        discussion: "Reads the topic first, to find the subscription also where a producer has put it into a wrong "
            + "partition. If there is none, it says so and ends with 1. Where topic.commands is set and a device of the "
            + "registrar has the token, it says so: the app's next start may undo this.",
        examples: [
            ("carillon unsubscribe --audience place/42 < token.txt", "By its token."),
            (
                "carillon unsubscribe --audience place/42 --token-hash "
                    + "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                "By the hash that 'subscriptions list' shows."
            ),
        ])

    @Option(help: "Whom the notifications are for.", valueName: "place/<id>|user/<id>|channel/<id>|device/<hash>")
    var audience: String
    @Option(help: "SHA-256 of the token in hex, instead of the token.", valueName: "hex") var tokenHash: String?
    @OptionGroup(title: "Token") var token: TokenOptions
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func validate() -> [String] {
        guard let tokenHash else { return [] }
        if token.tokenFile != nil { return ["--token-hash and --token-file exclude each other"] }
        if SubscriptionKey.isTokenHash(tokenHash.lowercased()) { return [] }
        return ["--token-hash: it must be the 64 hex digits that 'subscriptions list' shows"]
    }

    func run() async throws {
        let configuration = try options.checked()
        let key =
            if let tokenHash {
                SubscriptionKey(audience: audience, tokenHash: tokenHash.lowercased())
            } else {
                SubscriptionKey(audience: audience, token: try token.read())
            }
        guard let state = try SubscriptionsTopic(configuration: configuration).state(of: key),
            !state.unsubscription.isEmpty
        else {
            throw CommandFailure(.difference, "there is no subscription \(key.text), so nothing was written")
        }
        var writer = try TopicWriter(configuration.topics.subscriptions, configuration)
        for record in state.unsubscription { try writer.write(record) }
        try writer.finish()
        Terminal.write("unsubscribed \(key.text)\n")
        for stray in state.misplaced where stray.value != nil {
            Terminal.write("it was misplaced in partition \(stray.partition), and belongs in \(state.home)\n")
        }
        AddressOwner.warn(of: key.tokenHash, configuration)
    }
}
