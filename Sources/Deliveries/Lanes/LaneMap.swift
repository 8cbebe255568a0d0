import Digests
import Subscriptions

/// Which lane sends which records: every platform, app and environment belongs to exactly one.
///
/// Written as rules `<lane>:<platform>[/<app>[/<environment>]]` with commas between, `*` for every app. The most
/// specific rule counts: app and environment, app, environment, platform.
package struct LaneMap: Equatable, Sendable {
    package struct Rule: Hashable, Sendable {
        package var lane: String
        package var platform: Platform
        /// Nil is every app, and records without one.
        package var app: String?
        /// Nil is every environment.
        package var environment: PushEnvironment?

        /// As it is written.
        var text: String {
            let place = platform.rawValue
            guard let environment else { return "\(lane):\(place)" + (app.map { "/\($0)" } ?? "") }
            return "\(lane):\(place)/\(app ?? "*")/\(environment.rawValue)"
        }

        fileprivate var specificity: Int { (app == nil ? 0 : 2) + (environment == nil ? 0 : 1) }
    }

    package struct Problem: Error, Equatable, Sendable, CustomStringConvertible {
        package let description: String
    }

    package static let allowed =
        "rules <lane>:<platform>[/<app>[/<environment>]] with commas between, such as fcm:fcm, apns:apns, "
        + "sandbox:apns/*/development"

    /// One lane for each provider.
    package static let standard = LaneMap(
        rules: Platform.allCases.map { Rule(lane: $0.rawValue, platform: $0) })

    /// The most specific first.
    let rules: [Rule]

    private init(rules: [Rule]) {
        self.rules = rules.sorted { ($1.specificity, $0.text) < ($0.specificity, $1.text) }
    }

    package init(_ text: String) throws(Problem) {
        var rules: [Rule] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            rules.append(try Self.rule(part.drop { $0 == " " }))
        }
        var seen: [Rule: Rule] = [:]
        for rule in rules {
            var place = rule
            place.lane = ""
            if let other = seen.updateValue(rule, forKey: place) {
                throw Problem(description: "'\(rule.text)' and '\(other.text)' are about the same records")
            }
        }
        for platform in Platform.allCases
        where !rules.contains(where: { $0.platform == platform && $0.specificity == 0 }) {
            throw Problem(
                description: "no lane has all other records of \(platform.rawValue): there is no rule for it alone")
        }
        self.init(rules: rules)
    }

    private static func rule(_ text: Substring) throws(Problem) -> Rule {
        let text = String(text.reversed().drop { $0 == " " }.reversed())
        let halves = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard halves.count == 2, isName(halves[0]) else {
            throw Problem(description: "'\(text)' is no rule; allowed are \(allowed)")
        }
        let parts = halves[1].split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard (1...3).contains(parts.count), let platform = Platform(rawValue: parts[0]) else {
            let platforms = Platform.allCases.map(\.rawValue).joined(separator: " and ")
            throw Problem(description: "'\(text)' names no platform; allowed are \(platforms)")
        }
        var rule = Rule(lane: halves[0], platform: platform)
        if parts.count > 1 {
            guard !parts[1].isEmpty else {
                throw Problem(description: "'\(text)' has an empty app; allowed is * for every app")
            }
            if parts[1] != "*" { rule.app = parts[1] }
        }
        if parts.count > 2 {
            switch platform {
            case .fcm: throw Problem(description: "'\(text)' has an environment; FCM has only one")
            case .apns: break
            }
            guard let environment = PushEnvironment(rawValue: parts[2]) else {
                let known = PushEnvironment.allCases.map(\.rawValue).joined(separator: " and ")
                throw Problem(description: "'\(text)' names no environment; allowed are \(known)")
            }
            rule.environment = environment
        }
        return rule
    }

    /// Letters, digits and hyphens, at most 40: it is part of the names of groups and transactions.
    private static func isName(_ text: String) -> Bool {
        (1...40).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy {
                $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || $0 == "-")
            }
    }

    /// The names, in alphabetical order.
    package var lanes: [String] { Set(rules.map(\.lane)).sorted() }

    /// The lane of a record.
    ///
    /// - Parameters:
    ///   - app: nil if the record does not say.
    ///   - environment: nil for FCM.
    package func lane(_ platform: Platform, app: String?, _ environment: PushEnvironment?) -> String {
        let rule = rules.first { rule in
            rule.platform == platform && (rule.app == nil || rule.app == app)
                && (rule.environment == nil || rule.environment == environment)
        }
        // There always is one: each platform has a rule for all others.
        return rule?.lane ?? platform.rawValue
    }

    /// Eight hex digits that any change of the map changes; in the metadata of a lane's offsets.
    package var hash: String {
        SHA256.hex(of: rules.map(\.text).sorted().joined(separator: ","), digits: 8)
    }
}
