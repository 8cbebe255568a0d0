/// Files of credentials that were made for these tests, as providers write them.
package enum TestCredentials {
    /// The JSON of a Google service account.
    ///
    /// - Parameter changed: members with another value, or without one.
    package static func serviceAccount(_ changed: [String: String?] = [:]) -> [UInt8] {
        let members = [
            ("type", "service_account"), ("project_id", "shop"), ("private_key_id", "k1"),
            ("private_key", String(decoding: TestKeys.rsa, as: UTF8.self).replacing("\n", with: "\\n")),
            ("client_email", "sender@shop.iam.gserviceaccount.com"),
            ("token_uri", "https://oauth2.googleapis.com/token"),
        ]
        let written = members.compactMap { name, value -> String? in
            guard let change = changed[name] else { return "\"\(name)\":\"\(value)\"" }
            return change.map { "\"\(name)\":\"\($0)\"" }
        }
        return Array("{\(written.joined(separator: ","))}".utf8)
    }
}
