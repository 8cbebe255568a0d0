import Subscriptions

extension LaneMap {
    /// The credentials that each lane sends with, by their index in the map. Empty for a lane that refuses all of its
    /// records.
    package func credentials(of map: CredentialMap) -> [String: Set<Int>] {
        var found = Dictionary(uniqueKeysWithValues: lanes.map { ($0, Set<Int>()) })
        let named = Set(rules.compactMap(\.app) + map.entries.flatMap(\.apps))
        // Records without an app, and those of an app that nobody names: this one is longer than each of them.
        let apps: [String?] = [nil, named.joined() + "x"] + named
        for platform in Platform.allCases {
            for environment in Self.environments(of: platform) {
                for app in apps {
                    guard let index = map.credential(platform, app: app, environment) else { continue }
                    found[lane(platform, app: app, environment), default: []].insert(index)
                }
            }
        }
        return found
    }

    private static func environments(of platform: Platform) -> [PushEnvironment?] {
        switch platform {
        case .fcm: [nil]
        case .apns: PushEnvironment.allCases
        }
    }
}
