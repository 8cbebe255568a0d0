/// The name that a client gives to a POST so that it may repeat it: a structured string in quotes, or the same bare.
enum IdempotencyKey {
    static let allowed = "1 to 255 visible characters of ASCII, in quotes or without"

    /// - Returns: nil if it is none.
    static func read(_ header: String) -> String? {
        var text = header[...]
        if text.first == "\"" {
            guard text.count > 1, text.last == "\"" else { return nil }
            text = text.dropFirst().dropLast()
        }
        // An escape in quotes would make two keys of one.
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            !text.contains("\""), !text.contains("\\")
        else { return nil }
        return String(text)
    }
}
