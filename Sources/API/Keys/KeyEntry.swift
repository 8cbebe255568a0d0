import Digests
import JSONReader
import Notifications
import Time

/// One key as the file of keys has it: without its secret.
package struct KeyEntry: Equatable, Sendable {
    package var id: String
    /// The SHA-256 of the key's text, in hex.
    package var hash: String
    package var scopes: [APIScope]
    /// Empty: every app.
    package var apps: [String] = []
    /// Exact, or with `*` for any rest; empty: every audience.
    package var audiences: [String] = []
    package var note = ""
    package var created: WallTime?
    package var expires: WallTime?
    /// Requests a second; nil: the default.
    package var rate: Int?

    package init(_ key: APIKey, scopes: [APIScope]) {
        id = key.id
        hash = key.hash
        self.scopes = scopes
    }

    package func permits(audience: String) -> Bool {
        audiences.isEmpty || audiences.contains { AudiencePattern.matches($0, audience) }
    }

    /// Whether it hears of what is for these. Where they are not known, only a key for every audience does.
    package func permits(audiences names: [String]) -> Bool {
        audiences.isEmpty || !names.isEmpty && names.allSatisfy(permits(audience:))
    }

    package func permits(app: String) -> Bool {
        apps.isEmpty || apps.contains(app)
    }

    /// Of what reaches every audience and every app.
    ///
    /// - Parameter what: what it is, for the sentence.
    func permitEverybody(_ what: String) throws(Problem) {
        guard !audiences.isEmpty || !apps.isEmpty else { return }
        throw Problem(
            audiences.isEmpty ? .appNotAllowed : .audienceNotAllowed,
            "the key may only reach some audiences or apps, and \(what)")
    }
}

extension KeyEntry {
    /// One line of the file.
    package var document: Document {
        var members: [(name: String, value: Document)] = [
            ("id", .text(id)), ("sha256", .text(hash)), ("scopes", .list(scopes.map { .text($0.rawValue) })),
        ]
        if !apps.isEmpty { members.append(("apps", .list(apps.map(Document.text)))) }
        if !audiences.isEmpty { members.append(("audiences", .list(audiences.map(Document.text)))) }
        if !note.isEmpty { members.append(("note", .text(note))) }
        if let created { members.append(("created", .text(created.iso8601))) }
        if let expires { members.append(("expires", .text(expires.iso8601))) }
        if let rate { members.append(("rate", .integer(Int64(rate)))) }
        return .object(members)
    }

    init?(_ form: inout Form) {
        let id = form.text("id")
        if let id, !APIKey.isID(id) {
            form.problem("has an id that is not one; allowed are 8 letters and digits")
        } else if let id {
            form.name = "key '\(id)'"
        }
        form.only("id", "sha256", "scopes", "apps", "audiences", "note", "created", "expires", "rate")
        var hash = form.text("sha256")
        if hash?.withUTF8({ Hex.isHash(UnsafeRawBufferPointer($0)) }) == false {
            form.problem("has a sha256 that is not one; allowed are 64 digits of hex in lower case")
        }
        let scopes = form.texts("scopes").compactMap { form.one(of: APIScope.self, $0, "scope") }
        if form["scopes"] == nil { form.problem("needs scopes, a list of texts") }
        let audiences = form.texts("audiences")
        for audience in audiences where !AudiencePattern.isOne(audience) {
            form.problem("has the audience '\(audience)'; allowed are \(AudiencePattern.allowed)")
        }
        let rate = form["rate"].map { $0.integer.flatMap(Int.init(exactly:)) ?? 0 }
        if let rate, !(1...1_000_000).contains(rate) {
            form.problem("has a rate that is not one; allowed are 1 to 1000000 requests a second")
        }
        let (created, expires) = (Self.time("created", &form), Self.time("expires", &form))
        let note = form["note"] == nil ? "" : form.text("note", mayBeEmpty: true)
        let apps = form.texts("apps")
        guard let id, let hash, let note else { return nil }
        (self.id, self.hash, self.scopes, self.apps, self.audiences) = (id, hash, scopes, apps, audiences)
        (self.note, self.created, self.expires, self.rate) = (note, created, expires, rate)
    }

    /// An optional time with its offset.
    private static func time(_ member: String, _ form: inout Form) -> WallTime? {
        guard let value = form[member] else { return nil }
        if let text = value.string, case .instant(let time)? = Moment(text.bytes) { return time.validated }
        form.problem("has a time in \(member) that is not one; allowed are those such as 2026-11-21T10:00:00Z")
        return nil
    }
}
