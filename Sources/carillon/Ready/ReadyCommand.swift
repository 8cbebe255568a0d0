import Arguments
import Foundation
import Pipeline

/// `carillon ready`
struct ReadyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ready",
        abstract: "Wait until a daemon on this machine does its work.",
        discussion: """
            Asks /ready at the address of the setting http, and says on standard error what the daemon waits for, whenever \
            that changes. Exit codes: 0 ready; 75 not within the timeout; 78 http is not set.
            """,
        examples: [
            ("carillon ready --http 127.0.0.1:9464", "Wait up to a minute for the daemon at that address."),
            ("carillon ready --config carillon.properties --timeout 0s", "Ask once, such as for a health check."),
        ])

    @Option(help: "http, where the daemon serves /ready.", valueName: "host:port") var http: String?
    @Option(help: "How long to wait; 0s asks once.", valueName: "duration") var timeout = Timeout(.seconds(60))
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    /// `60s`, `500ms`, `5m`.
    struct Timeout: ExpressibleByArgument {
        var duration: Duration
        static let expected = "a duration such as 60s"
        var argumentText: String { ConfigurationText.text(duration) }

        init(_ duration: Duration) { self.duration = duration }

        init?(argument: String) {
            guard let duration = ConfigurationText.duration(argument) else { return nil }
            self.init(duration)
        }
    }

    func run() async throws {
        let flags = http.map { [ConfigurationLoader.Flag(name: "--http", key: "http", value: $0)] } ?? []
        let configuration = try options.checked(adding: flags, needsBroker: false)
        guard let address = configuration.http else {
            throw CommandFailure(
                .configuration, "http is not set: set it to where the daemon serves /ready, such as 127.0.0.1:9464")
        }
        try ReadyWait(address: address.local, timeout: timeout.duration).run(report: Terminal.tell)
    }
}
