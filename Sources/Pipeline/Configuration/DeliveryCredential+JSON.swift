import JSONReader
import Subscriptions

extension DeliveryCredential {
    /// Reads the list of credentials: a JSON list of objects. Paths are relative to the folder of the list.
    ///
    /// - Returns: the credentials, and what is wrong, all at once.
    static func list(json: [UInt8], folder: String) -> (credentials: [DeliveryCredential], problems: [String]) {
        var reader = JSONReader()
        return json.withUnsafeBytes { bytes in
            guard let value = try? reader.parse(bytes), value.isArray else {
                return ([], ["the file is no JSON list of credentials"])
            }
            var elements = value.elements
            var credentials: [DeliveryCredential] = []
            var problems: [String] = []
            var number = 0
            while let element = elements.next() {
                number += 1
                var members = CredentialMembers(element, number: number, folder: folder)
                if let credential = members.credential() { credentials.append(credential) }
                problems += members.problems
            }
            if number == 0 { problems.append("the list is empty") }
            return (credentials, problems)
        }
    }
}

/// Reads the members of one credential, and keeps what is wrong with them.
private struct CredentialMembers {
    /// The members of every credential.
    private static let common = ["name", "provider", "apps"]

    private let object: JSONValue
    private let number: Int
    private let folder: String
    private var name: String?
    private(set) var problems: [String] = []

    init(_ object: JSONValue, number: Int, folder: String) {
        self.object = object
        self.number = number
        self.folder = folder
    }

    mutating func credential() -> DeliveryCredential? {
        guard object.isObject else {
            problem("is no object")
            return nil
        }
        readName()
        let source = source()
        let apps = texts("apps")
        let environments = environments()
        guard problems.isEmpty, let name, let source else { return nil }
        return DeliveryCredential(name: name, source: source, apps: apps, environments: environments)
    }

    private mutating func readName() {
        guard let text = text("name") else { return }
        guard ConfigurationText.isName(text) else {
            problem("has the name '\(text)'; allowed are letters, digits, '.', '_' and '-', at most 200")
            return
        }
        name = text
    }

    private mutating func source() -> DeliveryCredential.Source? {
        switch text("provider") {
        case "fcm" where object.member("token_file") != nil:
            allow(["token_file", "project_id"])
            guard let file = path("token_file"), let project = text("project_id") else { return nil }
            return .tokenFile(file, projectID: project)
        case "fcm":
            allow(["service_account"])
            guard object.member("service_account") != nil else {
                problem("needs service_account, or token_file and project_id")
                return nil
            }
            return path("service_account").map { .serviceAccount(file: $0) }
        case "apns":
            allow(["environments", "key_file", "key_id", "team_id"])
            let (file, key, team) = (path("key_file"), text("key_id"), text("team_id"))
            guard let file, let key, let team else { return nil }
            return .providerKey(file: file, keyID: key, teamID: team)
        case let other?:
            problem("has the provider '\(other)'; allowed are fcm and apns")
            return nil
        case nil:
            return nil
        }
    }

    /// Whatever is neither of every credential nor one of these.
    private mutating func allow(_ names: [String]) {
        let allowed = Self.common + names
        var members = object.members
        while let (name, _) = members.next() {
            let name = String(name)
            switch name {
            case _ where allowed.contains(name): continue
            case "environments": problem("has environments; FCM has only one")
            default: problem("has the member '\(name)'; allowed are \(allowed.joined(separator: ", "))")
            }
        }
    }

    private mutating func environments() -> [PushEnvironment] {
        texts("environments").compactMap { text in
            let environment = PushEnvironment(rawValue: text)
            if environment == nil {
                let known = PushEnvironment.allCases.map(\.rawValue).joined(separator: " and ")
                problem("has the environment '\(text)'; allowed are \(known)")
            }
            return environment
        }
    }

    private mutating func text(_ name: StaticString) -> String? {
        guard let text = object.member(name)?.string, !text.bytes.isEmpty else {
            problem("needs \(name), a text that is not empty")
            return nil
        }
        return String(text)
    }

    private mutating func path(_ name: StaticString) -> String? {
        text(name).map { $0.hasPrefix("/") ? $0 : "\(folder)/\($0)" }
    }

    /// Empty without the member. A list that is there has something in it: none would mean everything.
    private mutating func texts(_ name: StaticString) -> [String] {
        guard let member = object.member(name) else { return [] }
        var texts: [String] = []
        var elements = member.elements
        while let element = elements.next() {
            guard let text = element.string, !text.bytes.isEmpty else {
                texts = []
                break
            }
            texts.append(String(text))
        }
        if texts.isEmpty { problem("has \(name), which must be a list of texts that are not empty") }
        return texts
    }

    private mutating func problem(_ text: String) {
        problems.append("credential \(name.map { "'\($0)'" } ?? "\(number)") \(text)")
    }
}
