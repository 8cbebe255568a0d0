/// Which credential sends which records.
package struct CredentialMap: Equatable, Sendable {
    package struct Entry: Equatable, Sendable {
        package var name: String
        package var platform: Platform
        /// Empty is every app that no other credential names, and records without one.
        package var apps: [String]
        /// All, where the provider has only one.
        package var environments: [PushEnvironment]

        package init(
            _ name: String, _ platform: Platform, apps: [String] = [],
            environments: [PushEnvironment] = PushEnvironment.allCases
        ) {
            self.name = name
            self.platform = platform
            self.apps = apps
            self.environments = environments
        }
    }

    package struct Problem: Error, Equatable, Sendable, CustomStringConvertible {
        package let description: String
    }

    package let entries: [Entry]

    package init(_ entries: [Entry]) throws(Problem) {
        self.entries = entries
        for (index, entry) in entries.enumerated() {
            for other in entries[..<index] {
                if other.name == entry.name { throw Problem(description: "two credentials are named '\(entry.name)'") }
                guard other.platform == entry.platform,
                    entry.environments.contains(where: other.environments.contains)
                else { continue }
                if let app = entry.apps.first(where: other.apps.contains) {
                    throw Problem(
                        description: "the credentials '\(other.name)' and '\(entry.name)' both have the app '\(app)'")
                }
                if entry.apps.isEmpty, other.apps.isEmpty {
                    throw Problem(
                        description:
                            "the credentials '\(other.name)' and '\(entry.name)' of \(entry.platform.rawValue) "
                            + "both have every app; allowed is one, and apps for the others")
                }
            }
        }
    }

    /// The index of the credential; nil if there is none, which refuses a record: `no_credential`.
    ///
    /// - Parameter app: nil if the record does not say. Then it is the only credential of its platform.
    package func credential(_ platform: Platform, app: String?, _ environment: PushEnvironment?) -> Int? {
        let candidates = entries.indices.filter { index in
            entries[index].platform == platform
                && environment.map(entries[index].environments.contains) ?? true
        }
        guard let app, !app.isEmpty else { return candidates.count == 1 ? candidates[0] : nil }
        return candidates.first { entries[$0].apps.contains(app) } ?? candidates.first { entries[$0].apps.isEmpty }
    }
}
