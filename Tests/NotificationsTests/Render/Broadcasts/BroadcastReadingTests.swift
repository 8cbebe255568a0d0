import NotificationPayload
import TestSupport
import Testing

@testable import Notifications

/// What is rendered for a broadcast arrives on the phone as what the broadcast says.
@Suite("Rendered broadcasts, read by the library for phones")
struct BroadcastReadingTests {
    private static let count = 2_000

    @Test("each platform reads the broadcast back", arguments: RenderSettings.BroadcastLanguage.allCases)
    func roundTrip(language: RenderSettings.BroadcastLanguage) throws {
        var random = RandomBroadcasts(seed: try RunSeed.value())
        var renderer = BroadcastRenderer(settings: RenderSettings(broadcastLanguage: language))
        for _ in 0..<Self.count {
            let broadcast = random.next()
            let locale = random.locale()
            let rendered = try RenderedBroadcast.all(
                broadcast, by: &renderer, to: RenderedBroadcast.devices([locale]))
            let fcm = try #require(PushValue(json: rendered[0].value)?["message"])
            let apns = try #require(PushValue(json: rendered[1].value)?["payload"])
            expect(Phone.onAndroid(fcm), is: broadcast, language, locale, isShown: language == .device)
            expect(Phone.onIOS(fcm), is: broadcast, language, locale, isShown: true)
            expect(ReceivedNotification(json: apns.json), is: broadcast, language, locale, isShown: true)
        }
    }

    /// - Parameter isShown: whether the system shows a display broadcast.
    private func expect(
        _ notification: ReceivedNotification, is broadcast: BroadcastNotification,
        _ language: RenderSettings.BroadcastLanguage, _ locale: String?, isShown: Bool,
        at location: SourceLocation = #_sourceLocation
    ) {
        guard case .broadcast(let received) = notification else {
            Issue.record("\(notification) is no broadcast", sourceLocation: location)
            return
        }
        #expect(received.notificationID == broadcast.notificationID, sourceLocation: location)
        #expect(notification.messageID == broadcast.messageID, sourceLocation: location)
        #expect(received.channel == broadcast.channel, sourceLocation: location)
        #expect(received.expiry == broadcast.expiry, sourceLocation: location)
        #expect(received.publishedAt == broadcast.publishedAt.milliseconds, sourceLocation: location)
        #expect(received.expiresAt == broadcast.expiresAt.milliseconds, sourceLocation: location)
        switch broadcast.content {
        case .nonDisplay(let nonDisplay):
            #expect(received.content == .nonDisplay(nonDisplay), sourceLocation: location)
            #expect(received.title == nil && received.body == nil, sourceLocation: location)
        case .display(var display):
            let text = display.text(for: locale ?? "")
            if language == .device { display.texts = text.map { [$0] } ?? [] }
            #expect(received.content == .display(display), sourceLocation: location)
            #expect(received.title == (isShown ? text?.title : nil), sourceLocation: location)
            #expect(received.body == (isShown ? text?.message : nil), sourceLocation: location)
        }
    }
}

/// Broadcasts with random members, all of them small enough for both providers.
private struct RandomBroadcasts {
    private var random: SeededGenerator
    private static let languages = ["en", "de", "de-AT", "hi", "pt_BR", "zh-Hant-TW"]

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    mutating func next() -> BroadcastNotification {
        let published = WallTime(milliseconds: Int64.random(in: 0...2_000_000_000_000, using: &random))
        let expiry: Broadcast.Expiry =
            Bool.random(using: &random)
            ? .lifetime(milliseconds: Int64.random(in: 0...2_419_200_000, using: &random))
            : .instant(milliseconds: Int64.random(in: 100_000_000_000...2_000_000_000_000, using: &random))
        let texts = Self.languages.shuffled(using: &random).prefix(Int.random(in: 1...4, using: &random)).map {
            Broadcast.Text(language: $0, title: text(), message: text())
        }
        let display = Broadcast.Display(
            kind: Broadcast.Display.Kind.allCases.randomElement(using: &random) ?? .others,
            isCancellable: Bool.random(using: &random),
            poster: Bool.random(using: &random) ? "https://a.example/\(text()).png" : nil, texts: texts)
        let nonDisplay = Broadcast.NonDisplay(
            kind: Bool.random(using: &random) ? .enableFeature : .disableFeature,
            data: Bool.random(using: &random) ? text() : nil)
        return BroadcastNotification(
            notificationID: text(), messageID: "msg-\(published.milliseconds)-abc123def",
            audience: "channel/General", channel: Bool.random(using: &random) ? text() : nil,
            publishedAt: published, expiry: expiry,
            content: Bool.random(using: &random) ? .display(display) : .nonDisplay(nonDisplay))
    }

    mutating func locale() -> String? {
        [nil, "de-DE", "DE_at", "hi", "pt", "zh_hant_tw", "sw"].randomElement(using: &random) ?? nil
    }

    /// Not empty; with what JSON must escape.
    private mutating func text() -> String {
        let pieces = ["a", "Ö", "😀", "\"", "\\", "/", "\n", "\u{1}", "\u{2028}", "\u{7F}", " ", "{", "}", ",", "z"]
        let count = Int.random(in: 1...9, using: &random)
        return (0..<count).map { _ in pieces[Int.random(in: 0..<pieces.count, using: &random)] }.joined()
    }
}
