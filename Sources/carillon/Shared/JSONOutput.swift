import Foundation

/// What `--json` prints: one document, members in the order of their names, and a newline.
enum JSONOutput {
    /// - Parameter keys: how a property's name becomes a member's. `messageID` becomes `message_id`; the keys of a
    ///   dictionary stay as they are.
    static func text(
        _ value: some Encodable, keys: JSONEncoder.KeyEncodingStrategy = .convertToSnakeCase
    ) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.keyEncodingStrategy = keys
        return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
    }
}
