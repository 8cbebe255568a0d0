import JSONReader
import NotificationPayload

extension Subscription {
    /// All problems of a subscription. Never quotes a value: it may be a token.
    public struct Invalid: Error, Equatable, Sendable, CustomStringConvertible {
        /// One sentence per problem.
        public var problems: [String]

        public var description: String {
            problems.joined(separator: "; ")
        }
    }

    /// The SHA-256 of the token in hex: logs and command output name a token by it.
    public var tokenHash: String { SubscriptionKey.tokenHash(of: token) }

    /// The record's key: `<audience>|<SHA-256 of the token in hex>`.
    public var key: String { SubscriptionKey(audience: audience, token: token).text }

    /// The record's value: JSON with the members in the order of docs/code.md §4; nil members are left out.
    public func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: 512)
        writer.append(#"{"audience":""#)
        writer.appendEscaped(audience)
        Self.append(#"","token":""#, token, to: &writer)
        Self.append(#"","platform":""#, platform.rawValue, to: &writer)
        Self.append(#"","address_kind":""#, addressKind?.rawValue, to: &writer)
        Self.append(#"","app":""#, app, to: &writer)
        Self.append(#"","environment":""#, environment.rawValue, to: &writer)
        Self.append(#"","locale":""#, locale, to: &writer)
        Self.append(#"","registered_at":""#, registeredAt?.iso8601, to: &writer)
        Self.append(#"","last_seen_at":""#, lastSeenAt?.iso8601, to: &writer)
        writer.append(#""}"#)
        return Array(writer.bytes)
    }

    private static func append(_ name: StaticString, _ value: String?, to writer: inout ByteWriter) {
        guard let value else { return }
        writer.append(name)
        writer.appendEscaped(value)
    }

    /// Reads a record. The key must belong to the value: otherwise nothing could ever unsubscribe it.
    public static func decode(key: [UInt8], value: [UInt8]) throws(Invalid) -> Subscription {
        var reader = JSONReader()
        return try decode(key: key, value: value, &reader)
    }

    /// - Parameter reader: one for many records.
    package static func decode(
        key: [UInt8], value: [UInt8], _ reader: inout JSONReader
    ) throws(Invalid) -> Subscription {
        let subscription = try decode(value: value, &reader)
        guard key == Array(subscription.key.utf8) else {
            throw Invalid(problems: ["the key does not belong to the value's audience and token"])
        }
        return subscription
    }

    /// Reads a record's value, or a line of an import. The error lists every problem.
    public static func decode(value: [UInt8]) throws(Invalid) -> Subscription {
        var reader = JSONReader()
        return try decode(value: value, &reader)
    }

    private static func decode(value: [UInt8], _ reader: inout JSONReader) throws(Invalid) -> Subscription {
        let result = value.withUnsafeBytes { bytes -> Result<Subscription, Invalid> in
            let document: JSONValue
            do {
                document = try reader.parse(bytes)
            } catch {
                return .failure(Invalid(problems: ["the value is not JSON"]))
            }
            let fields = SubscriptionFields(document)
            guard fields.problems.isEmpty, let platform = fields.platform else {
                return .failure(Invalid(problems: fields.problems))
            }
            return .success(Subscription(fields, platform))
        }
        return try result.get()
    }

    private init(_ fields: SubscriptionFields, _ platform: Platform) {
        self.init(
            audience: String(decoding: fields.audience, as: UTF8.self),
            token: String(decoding: fields.token, as: UTF8.self),
            platform: platform,
            addressKind: fields.kind,
            app: String(decoding: fields.app, as: UTF8.self),
            environment: fields.environment,
            locale: fields.locale.map { String(decoding: $0, as: UTF8.self) },
            registeredAt: fields.registeredAt,
            lastSeenAt: fields.lastSeenAt)
    }

    /// Throws an error that lists every problem of this subscription.
    public func validate() throws(Invalid) {
        let problems = Self.problems(audience: audience, token, platform, addressKind, app: app)
        guard problems.isEmpty else { throw Invalid(problems: problems) }
    }

    /// The problems of everything but the token, while it is not known.
    package var problemsWithoutToken: [String] {
        let token = "00"
        // The audience of a single device is compared with the token.
        let isDevice = Array(audience.utf8).withUnsafeBytes { Audience(of: $0) == .device }
        let audience = isDevice ? "device/" + SubscriptionKey.tokenHash(of: token) : audience
        return Self.problems(audience: audience, token, platform, addressKind, app: app)
    }

    static func problems(
        audience: String, _ token: String, _ platform: Platform, _ kind: AddressKind?, app: String
    ) -> [String] {
        var (audience, token, app) = (audience, token, app)
        return audience.withUTF8 { audience in
            token.withUTF8 { token in
                app.withUTF8 { app in
                    var fields = SubscriptionFields()
                    fields.audience = UnsafeRawBufferPointer(audience)
                    fields.token = UnsafeRawBufferPointer(token)
                    fields.platform = platform
                    fields.kind = kind
                    fields.app = UnsafeRawBufferPointer(app)
                    fields.check()
                    return fields.problems
                }
            }
        }
    }
}
