extension Setting {
    /// How backends ask over HTTP (docs/api.md).
    static let api: [Setting] = [
        .custom(
            "api.http", default: .none, allowed: "host:port, such as 127.0.0.1:8080",
            "Where the [HTTP API](api.md) listens; nowhere by default. It has no TLS: let a proxy reach it on this host."
        ) { text, draft in
            draft.configuration.api.http = ListenAddress(text)
            return draft.configuration.api.http != nil
        },
        .custom(
            "api.keys", default: .none, allowed: "@FILE with the keys that `carillon api key create` makes",
            "Who may use the HTTP API, and what for. The file is read again when it changes."
        ) { text, draft in
            guard text.first == "@", text.count > 1 else { return false }
            draft.configuration.api.keys = String(text.dropFirst())
            return true
        },
        .custom(
            "api.issuers", default: .none, allowed: "@FILE with those who sign tokens for an app's users",
            "Whose tokens let an app's users register [their own devices](api.md#users); nobody's by default. The file is read again when it changes."
        ) { text, draft in
            guard text.first == "@", text.count > 1 else { return false }
            draft.configuration.api.issuers = String(text.dropFirst())
            return true
        },
        .choice(
            "api.environment", \.configuration.api.environment, default: .value("live"),
            "Whose keys work: `crl_live_…` or `crl_test_…`."),
        .integer(
            "api.rate", \.configuration.api.rate, default: .value("1000"), 1...1_000_000,
            "The requests a second of a key that has no rate of its own, and twice as many at once."),
        .choice(
            "api.events", \.configuration.api.events, default: .value("off"), ["on": true, "off": false],
            "`on`: `POST /v1/events` writes events of orders to `topic.events`, as `<group.id>-api-<instance.id>`."),
        .duration(
            "api.wait", \.configuration.api.wait, default: "3s", .seconds(2) ... .seconds(30),
            "How long a client waits at most until it hears whether Kafka has what it sent."),
        trustedProxies,
    ]

    private static let trustedProxies: Setting = {
        let allowed = "IP addresses and networks with commas between, such as 127.0.0.1,10.0.0.0/8,fd00::/8"
        return Setting(
            key: "api.trusted-proxies", defaultValue: .value(""), allowed: allowed,
            summary: "Where the proxies are whose `X-Forwarded-For` says from which address a client came: "
                + "the log has it. Nobody's counts by default."
        ) { text, draft throws(InvalidValue) in
            let given = list(text)
            let networks = given.map { IPNetwork($0) }
            let wrong = zip(given, networks).filter { $1 == nil }.map { "'\($0.0)'" }
            guard wrong.isEmpty else {
                throw InvalidValue(allowed: "\(allowed); not \(wrong.joined(separator: ", "))")
            }
            draft.configuration.api.trustedProxies = networks.compactMap(\.self)
        }
    }()
}
