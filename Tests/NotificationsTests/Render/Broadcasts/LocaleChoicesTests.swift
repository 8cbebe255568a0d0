import NotificationPayload
import TestSupport
import Testing

@testable import Notifications

@Suite("The remembered choice of a language")
struct LocaleChoicesTests {
    @Test("a remembered choice is the one that the rule makes, for locales of every length, also of another broadcast")
    func same() {
        var choices = LocaleChoices()
        let broadcasts = [["en", "de", "pt-BR", "zh-Hant-TW-x-long-subtag"], ["de", "en"], ["fr"], []]
        let known = ["", "e", "en", "en-GB", "EN_gb", "de-AT", "pt-br", "pt", "fr"]
        let locales =
            known + ["zh-Hant-TW-x-long-subtag", "zh-Hant-TW-x-lo", "zh-Hant-TW-x-l"] + (0..<2_000).map { "d\($0)" }
            + (0..<2_000).map { "de-\($0)" }
        for languages in broadcasts {
            choices.begin(languages)
            for locale in locales + locales.reversed() {
                let chosen = Array(locale.utf8).withUnsafeBytes { choices.language(for: $0) }
                #expect(chosen == LanguageTag.choice(for: locale.utf8, among: languages), "\(locale) of \(languages)")
            }
        }
    }
}
