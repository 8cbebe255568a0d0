import Foundation

/// What `--json` prints, and what an API answers: one document, members in the order of their names, and a newline. It can go to a terminal: what a
/// text must not show there is `\u009b` in it.
package enum JSONOutput {
    /// - Parameter keys: how a property's name becomes a member's. `messageID` becomes `message_id`; the keys of a
    ///   dictionary stay as they are.
    package static func text(
        _ value: some Encodable, keys: JSONEncoder.KeyEncodingStrategy = .convertToSnakeCase
    ) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.keyEncodingStrategy = keys
        let document = try encoder.encode(value)
        return String(decoding: document.withUnsafeBytes(PlainJSON.escaped) ?? Array(document), as: UTF8.self) + "\n"
    }
}
