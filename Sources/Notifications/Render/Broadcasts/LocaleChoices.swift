import NotificationPayload

/// Which language of a broadcast a locale gets, remembered for the locales that were asked for: choosing takes longer than
/// everything else that is done for a device. Allocates nothing per device.
struct LocaleChoices: ~Copyable {
    private struct Choice {
        /// The locale's bytes and, in the last one, their count plus one; (0, 0): none yet.
        var locale: (UInt64, UInt64) = (0, 0)
        var language: Int32 = 0
    }

    /// A longer locale is not remembered.
    private static let longest = 15
    private static let slots = 256

    private var languages: [String] = []
    private var choices = [Choice](repeating: Choice(), count: slots)

    /// Begins another broadcast.
    mutating func begin(_ languages: [String]) {
        self.languages = languages
        for slot in choices.indices { choices[slot].locale = (0, 0) }
    }

    /// The index of the language; 0 where there are none.
    mutating func language(for locale: UnsafeRawBufferPointer) -> Int {
        guard languages.count > 1 else { return 0 }
        guard locale.count <= Self.longest else { return LanguageTag.choice(for: locale, among: languages) }
        var words: (UInt64, UInt64) = (0, 0)
        withUnsafeMutableBytes(of: &words) { target in
            target.copyMemory(from: locale)
            target[Self.longest] = UInt8(locale.count + 1)
        }
        let mixed = (words.0 ^ words.1 &* 0x9E37_79B9_7F4A_7C15) &* 0xFF51_AFD7_ED55_8CCD
        let slot = Int(mixed >> 56)
        if choices[slot].locale == words { return Int(choices[slot].language) }
        let language = LanguageTag.choice(for: locale, among: languages)
        choices[slot] = Choice(locale: words, language: Int32(language))
        return language
    }
}
