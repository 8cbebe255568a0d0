import JSONReader
import Notifications
import Time

/// What a token says of its person, and how far its issuer is believed (RFC 7519 §4.1).
package struct UserToken: Equatable, Sendable {
    /// How far the clocks of two machines may be apart, in milliseconds (RFC 7519 §4.1.4).
    package static let leeway: Int64 = 120_000
    package static let mostAudiences = 200

    package let issuer: String
    /// The person's id.
    package let subject: String
    package let issuedAt: WallTime
    /// The token holds before this time, and ``leeway`` longer.
    package let expires: WallTime
    /// The only device that may use it; nil: every one.
    package let device: DeviceID?
    /// What the token names, exact or with `*` for any rest; of these, ``permits(audience:)`` knows what counts.
    package let audiences: [String]
    /// What its issuer may grant.
    private let granted: [String]
    private let apps: [String]

    /// Whether the person's devices may be subscribed to it: the person's own, and what both the token and its issuer
    /// allow. A device's own follows from its address, and no token grants it.
    package func permits(audience: String) -> Bool {
        var bytes = audience
        switch bytes.withUTF8({ Audience(of: UnsafeRawBufferPointer($0)) }) {
        case .user: return audience.utf8.elementsEqual("user/\(subject)".utf8)
        case .device, nil: return false
        case .place, .channel:
            return [audiences, granted].allSatisfy { $0.contains { AudiencePattern.matches($0, audience) } }
        }
    }

    package func permits(app: String) -> Bool {
        apps.isEmpty || apps.contains(app)
    }
}

extension UserToken {
    /// - Parameters:
    ///   - claims: of a token with the right signature, each once.
    ///   - issuer: whose signature it is.
    init(_ claims: JSONValue, _ issuer: Issuer, at now: WallTime) throws(TokenRefusal) {
        guard Self.isForUs(claims.member("aud")) else { throw .audience }
        guard let issuedAt = claims.member("iat").flatMap(Self.time),
            let expires = claims.member("exp").flatMap(Self.time)
        else { throw .time }
        let lifetime = expires - issuedAt
        guard lifetime > 0, lifetime <= issuer.maxTTL.wholeMilliseconds else { throw .lifetime }
        var begins = issuedAt
        if let value = claims.member("nbf") {
            guard let notBefore = Self.time(value) else { throw .time }
            begins = max(begins, notBefore)
        }
        guard begins - now <= Self.leeway else { throw .tooEarly }
        guard now - expires < Self.leeway else { throw .expired }
        (self.issuedAt, self.expires) = (issuedAt, expires)
        (self.issuer, granted, apps) = (
            String(decoding: issuer.id.issuer, as: UTF8.self), issuer.audiences, issuer.apps
        )
        guard let subject = claims.member("sub")?.string.map(String.init), Self.isPerson(subject) else {
            throw .subject
        }
        self.subject = subject
        device = try Self.device(claims.member("device"))
        audiences = try Self.audiences(claims.member("audiences"))
    }

    /// RFC 7519 §4.1.3.
    private static func isForUs(_ value: JSONValue?) -> Bool {
        guard let value else { return false }
        if let text = value.string { return text == "carillon" }
        var (isNamed, isList) = (false, value.isArray)
        var elements = value.elements
        while let element = elements.next() {
            guard let text = element.string else {
                isList = false
                break
            }
            isNamed = isNamed || text == "carillon"
        }
        return isList && isNamed
    }

    /// A NumericDate (RFC 7519 §2), to the millisecond; nil before 1970 and after 9999.
    private static func time(_ value: JSONValue) -> WallTime? {
        let allowed = 0.0...253_402_300_799
        guard let seconds = value.integer.map(Double.init) ?? value.double, allowed.contains(seconds) else {
            return nil
        }
        return WallTime(milliseconds: Int64(seconds * 1_000))
    }

    private static func isPerson(_ id: String) -> Bool {
        var audience = "user/" + id
        return audience.withUTF8 { Audience(of: UnsafeRawBufferPointer($0)) } == .user
    }

    private static func device(_ value: JSONValue?) throws(TokenRefusal) -> DeviceID? {
        guard let value else { return nil }
        guard let id = value.string.flatMap({ DeviceID(String($0)) }) else { throw .device }
        return id
    }

    private static func audiences(_ value: JSONValue?) throws(TokenRefusal) -> [String] {
        guard let value else { return [] }
        guard value.isArray else { throw .audiences }
        var audiences: [String] = []
        var elements = value.elements
        while let element = elements.next() {
            guard let text = element.string.map(String.init), AudiencePattern.isOne(text),
                audiences.count < mostAudiences
            else { throw .audiences }
            audiences.append(text)
        }
        return audiences
    }
}
