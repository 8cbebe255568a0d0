/// How long a client waits for an outcome: `Prefer: wait=N` and `Prefer: respond-async` of RFC 7240.
enum Prefer {
    static let longest = 10

    /// The seconds; what is not known, or cannot be read, is ignored, as the RFC says.
    ///
    /// - Parameter headers: every `Prefer` of the request; of a preference that is repeated the first counts.
    static func wait(_ headers: [String], default seconds: Int) -> Int {
        for header in headers {
            for preference in header.split(separator: ",") {
                let text = preference.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
                if text == "respond-async" { return 0 }
                if text.hasPrefix("wait="), let wait = Int(text.dropFirst(5)), wait >= 0, text.utf8.count < 12 {
                    return min(wait, longest)
                }
            }
        }
        return seconds
    }
}
