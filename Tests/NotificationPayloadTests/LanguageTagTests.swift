import NotificationPayload
import Testing

@Suite("The choice of a language (docs/rules.md §14.3)")
struct LanguageTagTests {
    @Test(
        "the locale's own, otherwise its primary subtag's, otherwise the first, in any case and with - or _",
        arguments: [
            ("de-AT", "de-AT"), ("DE_at", "de-AT"), ("de-CH", "de"), ("de", "de"), ("de_Latn_AT", "de"),
            ("pt", "hi"), ("pt-PT", "hi"), ("pt_br", "pt-BR"), ("", "hi"), ("-de", "hi"), ("d", "hi"), ("deu", "hi"),
        ])
    func choice(locale: String, expected: String) {
        let texts = ["hi", "de", "de-AT", "pt-BR"].map { Broadcast.Text(language: $0, title: "t", message: "m") }
        let display = Broadcast.Display(kind: .general, isCancellable: true, texts: texts)
        #expect(display.text(for: locale)?.language == expected)
    }

    @Test("without a text there is none for any locale")
    func nothing() {
        #expect(Broadcast.Display(kind: .others, isCancellable: true, texts: []).text(for: "en") == nil)
    }
}
