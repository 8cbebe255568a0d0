/// Tags of languages, such as `en` or `pt-BR`: the case of ASCII letters, and `-` or `_`, make no difference.
package enum LanguageTag {
    /// A character in its normal form.
    package static func normal(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
        case UInt8(ascii: "_"): UInt8(ascii: "-")
        default: byte
        }
    }

    package static func isSame(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
        left.count == right.count && left.elementsEqual(right) { normal($0) == normal($1) }
    }

    /// Whether there is something, and only ASCII letters, digits, `-` and `_`.
    package static func isTag(_ text: some Collection<UInt8>) -> Bool {
        !text.isEmpty
            && text.allSatisfy { byte in
                switch normal(byte) {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// Which of these languages a device gets: that of its locale, otherwise that of the part before its first `-` or
    /// `_`, otherwise the first (docs/rules.md §14.3).
    ///
    /// - Returns: 0 where there are none.
    package static func choice(for locale: some Collection<UInt8>, among languages: [String]) -> Int {
        if let exact = languages.firstIndex(where: { isSame($0.utf8, locale) }) { return exact }
        let primary = locale.prefix { normal($0) != UInt8(ascii: "-") }
        return languages.firstIndex { isSame($0.utf8, primary) } ?? 0
    }
}
