import Notifications
import Registrar

/// How many devices an audience has, and of which kinds.
struct AudienceTally {
    /// Of apps and of languages, those with the most devices.
    static let mostListed = 100

    private(set) var devices = 0
    private var stale = 0
    private var platforms: [Platform: Int] = [:]
    private var apps: [String: Int] = [:]
    private var languages: [String: Int] = [:]

    mutating func note(_ subscriber: Subscriber, isStale: Bool) {
        devices += 1
        if isStale { stale += 1 }
        platforms[subscriber.platform, default: 0] += 1
        if !subscriber.app.isEmpty { apps[subscriber.app, default: 0] += 1 }
        if let locale = subscriber.locale {
            let language = locale.lowercased().prefix { $0 != "-" && $0 != "_" }
            languages[String(language), default: 0] += 1
        }
    }

    var members: [(name: String, value: Document)] {
        [
            ("devices", .integer(Int64(devices))), ("stale", .integer(Int64(stale))),
            ("platforms", .object(Platform.allCases.map { ($0.rawValue, .integer(Int64(platforms[$0] ?? 0))) })),
            ("apps", Self.most(apps, "app")), ("languages", Self.most(languages, "language")),
        ]
    }

    private static func most(_ counts: [String: Int], _ name: String) -> Document {
        let sorted = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return .list(
            sorted.prefix(mostListed).map { .object([(name, .text($0.key)), ("devices", .integer(Int64($0.value)))]) })
    }
}
