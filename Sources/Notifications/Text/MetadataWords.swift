/// The words of a text such as `v1 n=24 t=1751875337000`: what the metadata of an offset and some headers hold.
///
/// Readers ignore the names that they do not know, so that later versions can add words.
package struct MetadataWords {
    package let pairs: [(name: Substring, value: Substring)]

    /// Nil for a text that does not begin with the version, or has a word that is no `<name>=<value>`.
    package init?(_ text: String, version: String = "v1") {
        let words = text.split(separator: " ")
        guard words.first == version[...] else { return nil }
        var pairs: [(name: Substring, value: Substring)] = []
        for word in words.dropFirst() {
            let pair = word.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { return nil }
            pairs.append((pair[0], pair[1]))
        }
        self.pairs = pairs
    }

    /// The number of a word that is written in decimal digits alone; nil for any other text, and out of range.
    package static func number(_ value: Substring, _ range: ClosedRange<Int64>) -> Int64? {
        guard value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = Int64(value), range.contains(number)
        else { return nil }
        return number
    }
}
