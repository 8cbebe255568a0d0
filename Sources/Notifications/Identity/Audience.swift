import Digests
import NotificationPayload

/// Who can be subscribed to, and whom a request can name (docs/rules.md §8.2).
package enum Audience: UInt8, CaseIterable, Sendable {
    case place, user, channel
    /// One device, by the SHA-256 of its token.
    case device

    /// What an audience of this kind begins with.
    package var prefix: StaticString {
        switch self {
        case .place: "place/"
        case .user: "user/"
        case .channel: "channel/"
        case .device: "device/"
        }
    }

    /// Without the slash.
    package var name: String { String("\(prefix)".dropLast()) }

    /// In bytes.
    package static let maxCount = 1_024
    /// For a person.
    package static let allowed =
        "place/<id>, user/<id>, channel/<id> or device/<SHA-256 of the token> in at most 1,024 bytes"

    /// The kind of an audience: `place/<id>` with an id that is not empty, without control characters, or `device/` and
    /// 64 lower-case hex digits. Nil if the bytes are none.
    package init?(of bytes: UnsafeRawBufferPointer) {
        guard bytes.count <= Self.maxCount, !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return nil }
        for kind in Self.allCases {
            guard let id = kind.id(of: bytes), !id.isEmpty else { continue }
            switch kind {
            case .place, .user, .channel: break
            case .device: guard Hex.isHash(id) else { return nil }
            }
            self = kind
            return
        }
        return nil
    }

    /// What comes after the prefix; nil if the bytes do not begin with it.
    package func id(of bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        let count = prefix.utf8CodeUnitCount
        guard bytes.count >= count,
            sameBytes(UnsafeRawBufferPointer(rebasing: bytes[..<count]), UnsafeRawBufferPointer(prefix))
        else { return nil }
        return UnsafeRawBufferPointer(rebasing: bytes[count...])
    }
}
