import JSONReader

/// A subscription as borrowed bytes, checked without making a string.
struct SubscriptionFields {
    var audience = UnsafeRawBufferPointer(start: nil, count: 0)
    var token = UnsafeRawBufferPointer(start: nil, count: 0)
    var platform: Platform?
    var kind: AddressKind?
    var app = UnsafeRawBufferPointer(start: nil, count: 0)
    var environment = PushEnvironment.production
    var locale: UnsafeRawBufferPointer?
    var registeredAt: WallTime?
    var lastSeenAt: WallTime?
    /// One sentence each, once. They never quote a value: it may be a token in the wrong place.
    private(set) var problems: [String] = []

    init() {}

    /// Reads a record's value. Ignores unknown members; if a member occurs twice, the last one counts.
    init(_ value: JSONValue) {
        guard value.isObject else {
            add("the value is not a JSON object")
            return
        }
        var members = value.members
        while let (name, value) = members.next() {
            if name == "audience" {
                audience = text(value, "audience")
            } else if name == "token" {
                token = text(value, "token")
            } else if name == "platform" {
                let found = text(value, "platform")
                platform = Platform.allCases.first { found.elementsEqual($0.rawValue.utf8) }
            } else if name == "address_kind", !value.isNull {
                let found = text(value, "address_kind")
                guard let known = AddressKind.allCases.first(where: { found.elementsEqual($0.rawValue.utf8) }) else {
                    add("address_kind is neither \(Self.list(AddressKind.allCases))")
                    continue
                }
                kind = known
            } else if name == "app", !value.isNull {
                app = text(value, "app")
            } else if name == "environment", !value.isNull {
                let found = text(value, "environment")
                guard let known = PushEnvironment.allCases.first(where: { found.elementsEqual($0.rawValue.utf8) })
                else {
                    add("environment is neither \(Self.list(PushEnvironment.allCases))")
                    continue
                }
                environment = known
            } else if name == "locale", !value.isNull {
                locale = text(value, "locale")
            } else if name == "registered_at", !value.isNull {
                registeredAt = time(value, "registered_at")
            } else if name == "last_seen_at", !value.isNull {
                lastSeenAt = time(value, "last_seen_at")
            }
        }
        check()
    }

    /// Adds every problem of the fields.
    mutating func check() {
        switch Audience(of: audience) {
        case .place, .user, .channel: break
        case .device:
            if !Self.isOwn(audience, token: token) {
                add("audience is the device of another token: a device subscribes to its own SHA-256 alone")
            }
        case nil: add("audience is not \(Audience.allowed)")
        }
        if !(1...4_096).contains(token.count) {
            add("token has \(token.count) bytes, allowed are 1 to 4,096")
        } else if !Self.isVisible(token) {
            add("token contains whitespace, a control character, or bytes that are not UTF-8")
        }
        if app.count > 255 || !app.isEmpty && !Self.isVisible(app) {
            add("app is longer than 255 bytes, or contains whitespace or a control character")
        }
        guard let platform else {
            add("platform is neither \(Self.list(Platform.allCases))")
            return
        }
        if let kind, kind.platform != platform {
            add("address_kind is none of \(platform.name); allowed is \(Self.list(platform.kinds, "or"))")
        }
        for problem in platform.problems(token: token, app: app) { add(problem) }
    }

    /// The locale as the table stores it. A text that cannot be a language tag, by its length or its characters, is
    /// left out: the device is kept without it.
    var storedLocale: UnsafeRawBufferPointer {
        guard let locale, locale.count <= Int(UInt8.max), Self.isVisible(locale) else {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        return locale
    }

    private static func list(_ allowed: [some RawRepresentable<String>], _ word: String = "nor") -> String {
        allowed.map(\.rawValue).joined(separator: " \(word) ")
    }

    mutating func add(_ problem: String) {
        // A value may have a member, with the same mistake, a hundred thousand times.
        if !problems.contains(problem) { problems.append(problem) }
    }

    private mutating func text(_ value: JSONValue, _ name: String) -> UnsafeRawBufferPointer {
        guard let text = value.string else {
            add("\(name) is not a string")
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        return text.bytes
    }

    private mutating func time(_ value: JSONValue, _ name: String) -> WallTime? {
        guard let time = WallTime(value) else {
            add("\(name) is neither an ISO 8601 time nor seconds or milliseconds since 1970")
            return nil
        }
        return time
    }
}

extension SubscriptionFields {
    /// Whether the audience `device/<SHA-256>` is that of this token.
    private static func isOwn(_ audience: UnsafeRawBufferPointer, token: UnsafeRawBufferPointer) -> Bool {
        let hash = SubscriptionKey.tokenHash(of: String(decoding: token, as: UTF8.self))
        return Audience.device.id(of: audience)?.elementsEqual(hash.utf8) == true
    }

    /// UTF-8 without whitespace and control characters.
    static func isVisible(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var isASCII = true
        for byte in bytes {
            guard byte > 0x20, byte != 0x7F else { return false }
            isASCII = isASCII && byte < 0x80
        }
        if isASCII { return true }
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        return text.unicodeScalars.allSatisfy {
            !$0.properties.isWhitespace && $0.properties.generalCategory != .control
        }
    }

    static func isHex(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count % 2 == 0
            && bytes.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                    UInt8(ascii: "A")...UInt8(ascii: "F"):
                    true
                default: false
                }
            }
    }
}
