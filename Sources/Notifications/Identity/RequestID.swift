import Digests

/// The id of a request, as the header `request-id` has it (docs/rules.md §8.1).
package enum RequestID {
    /// Whether a header has it as it is, and not its SHA-256 in hex digits: at most 255 bytes, no control character.
    package static func isPlain(_ id: UnsafeRawBufferPointer) -> Bool {
        id.count <= 255 && id.allSatisfy { $0 > 0x1F && $0 != 0x7F }
    }

    /// The header of an id; nil if it is blank. Allocates: not for the hot path.
    package static func header(of id: String) -> String? {
        var id = id
        return id.withUTF8 { bytes in
            let trimmed = UnsafeRawBufferPointer(bytes).trimmed
            guard !trimmed.isEmpty else { return nil }
            let text = String(decoding: trimmed, as: UTF8.self)
            return isPlain(trimmed) ? text : SHA256.hex(of: text)
        }
    }
}
