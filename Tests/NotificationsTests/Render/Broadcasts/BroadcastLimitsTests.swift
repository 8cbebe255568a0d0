import NotificationPayload
import Testing

@testable import Notifications

@Suite("The limits of broadcasts (docs/rules.md §14.2)")
struct BroadcastLimitsTests {
    private func problem(
        _ broadcast: BroadcastNotification, _ language: RenderSettings.BroadcastLanguage = .all
    ) -> DeadLetter? {
        var renderer = BroadcastRenderer(settings: RenderSettings(broadcastLanguage: language))
        let record = EventRecord(partition: 0, offset: 7, timestamp: nil, key: nil, value: nil)
        return renderer.begin(broadcast, from: record, of: "notifications.broadcasts", headers: [])
    }

    private func text(_ language: String, _ count: Int, of unit: String = "x") -> Broadcast.Text {
        Broadcast.Text(language: language, title: "t", message: String(repeating: unit, count: count))
    }

    /// The largest broadcast that fits both providers with a message of so many bytes, and the sizes of what is
    /// written for it, counted from the bytes themselves.
    private func largest(
        _ language: RenderSettings.BroadcastLanguage, _ make: (Int) -> BroadcastNotification
    ) throws -> (fcm: Int, apns: Int, sentence: String) {
        var count = 0
        while problem(make(count + 1), language) == nil { count += 1 }
        let devices = RenderedBroadcast.devices(["a", "b", "c"])
        let rendered = try RenderedBroadcast.all(
            make(count), RenderSettings(broadcastLanguage: language), to: devices)
        let fcm = try rendered.filter { $0.platform == .fcm }.map { try Self.counted($0.value) }.max()
        let apns = rendered.filter { $0.platform == .apns }.map(Self.payloadCount).max()
        return (fcm ?? 0, apns ?? 0, problem(make(count + 1), language)?.message ?? "")
    }

    /// §1.3, and the alert for iOS, from the message itself.
    private static func counted(_ message: String) throws -> Int {
        let value = try #require(PushValue(json: message)?["message"])
        let shown = value["notification"] ?? value["apns"]?["payload"]?["aps"]?["alert"]
        return [value["data"], shown].reduce(0) { size, object in
            size + (object?.object ?? [:]).reduce(0) { $0 + $1.key.utf8.count + ($1.value.string?.utf8.count ?? 0) }
        }
    }

    /// §2.3.
    private static func payloadCount(_ message: RenderedBroadcast) -> Int {
        guard let start = message.value.range(of: #""payload":"#) else { return 0 }
        return message.value[start.upperBound...].utf8.count - 1
    }

    @Test(
        "§1.3, §2.3: a broadcast has exactly the provider's limit, or it is a dead letter", arguments: ["x", "é", "\""])
    func exact(unit: String) throws {
        for language in RenderSettings.BroadcastLanguage.allCases {
            let found = try largest(language) { count in
                .display([text("a", count, of: unit), text("b", 5), text("c", 3)], poster: "https://p")
            }
            let step = unit.utf8.count * 6
            #expect(found.fcm <= 4_096 && found.apns <= 4_096, "\(unit) \(language)")
            #expect(max(found.fcm, found.apns) > 4_096 - step, "\(unit) \(language)")
            #expect(found.sentence.hasSuffix("bytes, at most 4096 are allowed; without \"a\" it fits"), "\(found)")
        }
    }

    @Test("a non-display broadcast has the limits of its data alone")
    func nonDisplay() throws {
        let found = try largest(.all) { .nonDisplay(String(repeating: "x", count: $0)) }
        #expect(found.fcm <= 4_096 && found.apns == 4_096)
        #expect(found.sentence == "the payload of an APNs message has 4097 bytes, at most 4096 are allowed")
    }

    @Test("with all languages the largest ones are named, and as few as are enough")
    func whichOfAll() {
        let broadcast = BroadcastNotification.display([
            text("en", 400), text("ta", 1_800), text("hi", 1_500), text("kn", 900), text("de", 300),
        ])
        let letter = problem(broadcast)
        #expect(letter?.code == .payloadTooLarge)
        #expect(letter?.message.hasPrefix("the data and notification of an FCM message have ") == true)
        #expect(letter?.message.hasSuffix("; without \"ta\", \"hi\" it fits") == true, "\(letter?.message ?? "")")
        #expect(problem(.display([text("en", 400), text("kn", 900), text("de", 300)])) == nil)
        #expect(problem(broadcast, .device) == nil, "each alone fits")
    }

    @Test("in the device's language those are named that are too large by themselves")
    func whichOfOne() {
        let broadcast = BroadcastNotification.display([text("en", 2_500), text("ta", 100), text("hi", 3_000)])
        #expect(problem(broadcast, .device)?.message.hasSuffix("; without \"en\", \"hi\" it fits") == true)
    }

    @Test("where no language fits alone, it says so")
    func none() {
        let broadcast = BroadcastNotification.display([text("en", 5_000), text("hi", 6_000)])
        for language in RenderSettings.BroadcastLanguage.allCases {
            let letter = problem(broadcast, language)
            #expect(letter?.message.hasSuffix("; fewer languages are not enough: it has to be shorter") == true)
        }
    }
}
