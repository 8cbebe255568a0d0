import NotificationPayload

/// What one installation of an app remembers between its starts.
struct Installation: Equatable {
    private static let version = 1

    /// 32 digits of hex, made once.
    let id: String
    /// How often what it wants to be has changed. Raised before it is sent, so that none is used twice.
    var generation = 0
    /// The API takes no larger one.
    static let latestGeneration = 1 << 53 - 1
    /// Of the device credential.
    var secret: String?
    /// Who may be logged in on it at the server: known before a login is sent, and until a logout was answered.
    var person: String?
    /// Of what was sent last; nil: nothing that counts was.
    var digest: UInt64?

    /// - Parameter number: 128 random bits.
    init(number: (UInt64, UInt64)) {
        id = Self.hex(number.0) + Self.hex(number.1)
    }

    /// Nil if it is not what ``text`` gives.
    init?(text: String) {
        guard let members = PushValue(json: text), members["version"]?.int == Self.version,
            let id = members["id"]?.string, let generation = members["generation"]?.int
        else { return nil }
        self.id = id
        self.generation = generation
        secret = members["secret"]?.string
        person = members["person"]?.string
        digest = members["digest"]?.string.flatMap { UInt64($0, radix: 16) }
    }

    /// As it is stored.
    var text: String {
        var members: [String: PushValue] = [
            "version": .number("\(Self.version)"), "id": .string(id), "generation": .number("\(generation)"),
        ]
        members["secret"] = secret.map(PushValue.string)
        members["person"] = person.map(PushValue.string)
        members["digest"] = digest.map { .string(Self.hex($0)) }
        return PushValue.object(members).json
    }

    /// A body with its generation. What differs from what was sent last gets a new one; what does not is sent again as it was.
    mutating func body(_ members: [String: PushValue], hasGeneration: Bool) -> String {
        guard hasGeneration else { return PushValue.object(members).json }
        let digest = Self.digest(PushValue.object(members).json)
        if digest != self.digest { generation = min(generation + 1, Self.latestGeneration) }
        self.digest = digest
        var members = members
        members["generation"] = .number("\(generation)")
        return PushValue.object(members).json
    }

    /// 64 bits of FNV-1a: it only finds out what has changed.
    private static func digest(_ text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    private static func hex(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
