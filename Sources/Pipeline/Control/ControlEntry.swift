import JSONReader
import NotificationPayload

/// The value of a record of `topic.control`: `{"version":1,"why":"…","by":"…","at":…}`.
package struct ControlEntry: Equatable, Sendable {
    private static let version: Int64 = 1
    /// Of ``why`` and ``by``, in bytes.
    package static let mostText = 1_024

    /// A sentence for a person; may be empty.
    package var why: String
    /// Who wrote it.
    package var by: String
    /// When, by the writer's clock.
    package var at: WallTime

    /// - Parameter why: cut where it is longer than ``mostText``.
    package init(why: String, by: String, at: WallTime) {
        self.why = Self.cut(why)
        self.by = Self.cut(by)
        self.at = at
    }

    /// Nil for another version, and for what is no such value.
    init?(_ value: [UInt8], _ reader: inout JSONReader) {
        let found: Self? = value.withUnsafeBytes { bytes in
            guard let object = try? reader.parse(bytes), object.isObject,
                object.member("version")?.integer == Self.version, let why = object.member("why")?.string,
                let by = object.member("by")?.string, let at = object.member("at")?.integer
            else { return nil }
            return Self(why: String(why), by: String(by), at: WallTime(milliseconds: at))
        }
        guard let found else { return nil }
        self = found
    }

    package var json: [UInt8] {
        var text = ByteWriter(capacity: 128)
        text.append(#"{"version":"#)
        text.append(decimal: Self.version)
        text.append(#","why":""#)
        text.appendEscaped(why)
        text.append(#"","by":""#)
        text.appendEscaped(by)
        text.append(#"","at":"#)
        text.append(decimal: at.milliseconds)
        text.append("}")
        return Array(text.bytes)
    }

    private static func cut(_ text: String) -> String {
        guard text.utf8.count > mostText else { return text }
        var cut = ""
        for character in text {
            guard cut.utf8.count + character.utf8.count <= mostText else { break }
            cut.append(character)
        }
        return cut
    }
}
