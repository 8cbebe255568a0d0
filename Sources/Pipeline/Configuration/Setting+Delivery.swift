import Foundation
import JSONReader
import Notifications

extension Setting {
    /// How `carillon deliver` sends (docs/delivery.md).
    static let delivery: [Setting] = [
        .file(
            "delivery.credentials",
            allowed:
                "@FILE with a JSON list such as [{\"name\":\"shop\",\"provider\":\"fcm\",\"service_account\":\"shop.json\"}]",
            "What `carillon deliver` sends with: FCM's service accounts or token files, APNs' keys, each for its apps: "
                + "[credentials](delivery.md#credentials)."
        ) { file, draft throws(InvalidForm) in
            draft.configuration.delivery.credentials =
                if let file { try ProviderCredential.list(json: file.bytes, folder: file.folder) } else { [] }
        },
        .duration(
            "delivery.give-up", \.configuration.delivery.longestTry, default: "1h", .seconds(1) ... .days(1),
            "A push is given up at its first failure after so long, outages not counted, or when it expires."),
        .integer(
            "delivery.in-flight", \.configuration.delivery.inFlight, default: .value("1000"), 1...20_000,
            "The requests to a provider that are in flight, in a process."),
        .integer(
            "delivery.window", \.configuration.delivery.window, default: .value("16384"), 64...LaneOffset.largestWindow,
            "The records of a partition that may be read and not finished."),
        .duration(
            "delivery.commit-interval", \.configuration.delivery.commitInterval, default: "50ms",
            .milliseconds(10) ... .seconds(5),
            "How often what was answered is committed, and four times as seldom while more waits to be read: a crash repeats the requests since then."
        ),
        .choice(
            "delivery.reap", \.configuration.delivery.reaps, default: .value("hourly"),
            ["hourly": true, "off": false],
            "Whether the registrar is told of dead devices every hour; `carillon deliver reap` does it by hand."
        ),
        .integer(
            "delivery.fcm-rate", \.configuration.delivery.fcmPerMinute, default: .value("600000"), 60...100_000_000,
            "The requests a minute of each FCM credential, all processes together: the quota of its project."),
        .url(
            "delivery.fcm-url", default: .value("https://fcm.googleapis.com"), "Where FCM is."
        ) { url, delivery in delivery.fcmURL = url },
        .url(
            "delivery.apns-url", default: .computed("Apple's two hosts"),
            "Where APNs is, for devices of both environments."
        ) { url, delivery in delivery.apnsURL = url },
        .choice(
            "delivery.apns-port", \.configuration.delivery.apnsPort, default: .value("443"),
            ["443": 443, "2197": 2197], "The port of Apple's hosts; some firewalls let only 2197 pass."),
        .custom(
            "delivery.ca-file", default: .computed("the system's authorities"),
            allowed: "the path of a PEM file with certificates, which can be read",
            "The only authorities whose certificates are trusted."
        ) { path, draft in
            guard let file = FileManager.default.contents(atPath: path),
                file.range(of: Data("-----BEGIN CERTIFICATE-----".utf8)) != nil
            else { return false }
            draft.configuration.delivery.caFile = path
            return true
        },
    ]

    /// A server's address, to which paths are appended.
    private static func url(
        _ key: String, default value: Default, _ summary: String,
        _ take: @escaping @Sendable (String, inout SenderConfiguration) -> Void
    ) -> Setting {
        custom(key, default: value, allowed: "https://HOST or https://HOST:PORT, without a path", summary) {
            text, draft in
            guard isServer(text) else { return false }
            take(text, &draft.configuration.delivery)
            return true
        }
    }

    /// Whether a text is `https://`, a name or an address (IPv6 in brackets), and perhaps a port.
    private static func isServer(_ text: String) -> Bool {
        guard let server = text.wholeMatch(of: /https:\/\/(?:[A-Za-z0-9.\-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?/)
        else { return false }
        return server.1.map { UInt16($0) ?? 0 > 0 } ?? true
    }
}
