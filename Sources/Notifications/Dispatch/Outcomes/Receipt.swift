import JSONReader
import NotificationPayload

/// What a phone says of a push: a record of `notifications.receipts` (docs/code.md §4). Its key is the push's: the SHA-256 of the
/// device's address.
package struct Receipt: Hashable, Sendable {
    private static let version: Int64 = 1
    /// Of a message id, in bytes.
    package static let mostText = 64

    package enum Kind: String, CaseIterable, Codable, Sendable {
        /// The app has it.
        case received
        /// The user has tapped on it.
        case opened
        /// The user has swiped it away.
        case dismissed
    }

    package var messageID: String
    /// 64 digits of hex.
    package var device: String
    package var kind: Kind
    /// By the phone's clock.
    package var at: WallTime
    package var platform: Platform
    package var app: String

    package init(_ kind: Kind, of messageID: String, device: String, at time: WallTime, platform: Platform, app: String)
    {
        self.messageID = messageID
        self.device = device
        self.kind = kind
        at = time
        self.platform = platform
        self.app = app
    }

    /// Nil for another version, and for what is no such value.
    package init?(_ value: JSONValue) {
        func text(_ name: StaticString) -> String? { value.member(name)?.string.map { String($0) } }
        guard value.isObject, value.member("version")?.integer == Self.version, let messageID = text("message_id"),
            let device = text("device"), let kind = text("kind").flatMap({ Kind(rawValue: $0) }),
            let at = value.member("at")?.integer, let platform = text("platform").flatMap({ Platform(rawValue: $0) }),
            let app = text("app")
        else { return nil }
        self.init(
            kind, of: messageID, device: device, at: WallTime(milliseconds: at), platform: platform, app: app)
    }

    package var json: [UInt8] {
        var text = ByteWriter(capacity: 256)
        text.append(#"{"version":"#)
        text.append(decimal: Self.version)
        text.append(#","message_id":""#)
        text.appendEscaped(messageID)
        text.append(#"","device":""#)
        text.append(device)
        text.append(#"","kind":""#)
        text.append(kind.rawValue)
        text.append(#"","at":"#)
        text.append(decimal: at.milliseconds)
        text.append(#","platform":""#)
        text.append(platform.rawValue)
        text.append(#"","app":""#)
        text.appendEscaped(app)
        text.append(#""}"#)
        return Array(text.bytes)
    }
}
