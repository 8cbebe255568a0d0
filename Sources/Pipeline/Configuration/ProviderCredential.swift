import JSONReader
import Notifications

/// One credential: for which apps it is, and the files that hold its secret.
public struct ProviderCredential: Sendable, Equatable {
    public enum Source: Sendable, Equatable {
        /// FCM: the JSON file of a Google service account.
        case serviceAccount(file: String)
        /// FCM: a file with an access token that somebody else refreshes.
        case tokenFile(String, projectID: String)
        /// APNs: the `.p8` file of a team's key.
        case providerKey(file: String, keyID: String, teamID: String)

        /// The file with the secret.
        package var file: String {
            switch self {
            case .serviceAccount(let file), .tokenFile(let file, _), .providerKey(let file, _, _): file
            }
        }
    }

    /// As records of `notifications.deliveries`, metrics and log lines call it.
    public var name: String
    public var source: Source
    /// Empty: every app that no other credential names, and records without one.
    public var apps: [String]
    /// Of APNs; empty: all.
    public var environments: [PushEnvironment]

    public init(name: String, source: Source, apps: [String] = [], environments: [PushEnvironment] = []) {
        self.name = name
        self.source = source
        self.apps = apps
        self.environments = environments
    }

    package var platform: Platform {
        switch source {
        case .serviceAccount, .tokenFile: .fcm
        case .providerKey: .apns
        }
    }

    package var entry: CredentialMap.Entry {
        CredentialMap.Entry(
            name, platform, apps: apps, environments: environments.isEmpty ? PushEnvironment.allCases : environments)
    }
}

extension ProviderCredential {
    /// Reads the list of credentials: a JSON list of objects. Paths are relative to the folder of the list.
    static func list(json: [UInt8], folder: String) throws(InvalidForm) -> [ProviderCredential] {
        try Form.read(json) { value, file in
            guard value.isArray else {
                file.problem("is no list of credentials")
                return nil
            }
            var credentials: [ProviderCredential?] = []
            var elements = value.elements
            while let element = elements.next() {
                let credential = file.object(element, as: "credential \(credentials.count + 1)") { form in
                    ProviderCredential(&form, folder: folder)
                }
                credentials.append(credential)
            }
            if credentials.isEmpty { file.problem("is an empty list") }
            return credentials.compactMap(\.self)
        }
    }

    private init?(_ form: inout Form, folder: String) {
        let name = form.text("name")
        if let name, !ConfigurationText.isName(name) {
            form.problem("has the name '\(name)'; allowed are letters, digits, '.', '_' and '-', at most 200")
        } else if let name {
            form.name = "credential '\(name)'"
        }
        let provider = form.text("provider").flatMap { form.one(of: Platform.self, $0, "provider") }
        let source = provider.flatMap { Source(&form, of: $0, folder: folder) }
        let apps = form.texts("apps")
        var environments: [PushEnvironment] = []
        switch provider {
        case .apns:
            environments = form.texts("environments").compactMap {
                form.one(of: PushEnvironment.self, $0, "environment")
            }
        case .fcm, nil: break
        }
        guard let name, let source else { return nil }
        self.init(name: name, source: source, apps: apps, environments: environments)
    }
}

extension ProviderCredential.Source {
    fileprivate init?(_ form: inout Form, of provider: Platform, folder: String) {
        func path(_ member: String) -> String? {
            form.text(member).map { $0.hasPrefix("/") ? $0 : "\(folder)/\($0)" }
        }
        switch provider {
        case .fcm where form["token_file"] != nil:
            form.only("name", "provider", "apps", "token_file", "project_id")
            guard let file = path("token_file"), let project = form.text("project_id") else { return nil }
            self = .tokenFile(file, projectID: project)
        case .fcm:
            form.only("name", "provider", "apps", "service_account")
            guard form["service_account"] != nil else {
                form.problem("needs service_account, or token_file and project_id")
                return nil
            }
            guard let file = path("service_account") else { return nil }
            self = .serviceAccount(file: file)
        case .apns:
            form.only("name", "provider", "apps", "environments", "key_file", "key_id", "team_id")
            let (file, key, team) = (path("key_file"), form.text("key_id"), form.text("team_id"))
            guard let file, let key, let team else { return nil }
            self = .providerKey(file: file, keyID: key, teamID: team)
        }
    }
}
