import CarillonTesting
import NotificationPayload
import StageSupport
import TestSupport
import Testing

@testable import DispatchRecords
@testable import Events
@testable import FanOut
@testable import Subscriptions

@Suite("§7.2: grouped records")
struct GroupedRecordsTests {
    private static let everyHeader = RenderSettings(optionalHeaders: Set(RenderSettings.OptionalHeader.allCases))

    /// Devices that differ in all that a record may say of them.
    static let mixed: [Subscription] = (0..<60).map { number in
        var device: Subscription =
            number % 3 == 0 ? .apns(String(0x1000 + number, radix: 16)) : .fcm("token-\(number)")
        switch number % 5 {
        case 0: device.locale = "de"
        case 1: device.locale = "en-GB"
        case 2: device.app = device.platform == .apns ? #"com."quoted"\app"# : ""
        default: break
        }
        if device.platform == .fcm, number % 7 == 0 { device.token = #"a"b\c-\#(number)-é"# }
        if number % 4 == 0 { device.environment = .development }
        return device
    }

    @Test("the value of FCM has the list of devices, then the message without a token")
    func fcm() throws {
        var batch = EventBatch()
        batch.add(payload: "{}")
        let trial = try GroupedTrial(batch, to: [.fcm("token-1")])
        let record = try #require(trial.grouped.first)
        #expect(record.key == "place/7")
        #expect(
            record.value
                == [
                    #"{"devices":[{"hash":"\#(Subscription.fcm("token-1").tokenHash)","token":"token-1"}],"#,
                    #""message":{"data":{"default":"{}"},"android":{"priority":"high","ttl":"3600s"},"#,
                    #""apns":{"headers":{"apns-push-type":"background","apns-priority":"5","apns-expiration":"1751900400"},"#,
                    #""payload":{"aps":{"content-available":1}}}}}"#,
                ].joined())
        #expect(record["devices"] == "1")
    }

    @Test("the value of APNs has the list of devices, then what one device's has after its token")
    func apns() throws {
        var batch = EventBatch()
        batch.add(payload: "{}")
        let trial = try GroupedTrial(batch, to: [.apns("0a"), .apns("0b")])
        #expect(trial.grouped.count == 1)
        let devices = [Subscription.apns("0a"), .apns("0b")].sorted { $0.tokenHash < $1.tokenHash }
            .map { #"{"hash":"\#($0.tokenHash)","token":"\#($0.token)"}"# }.joined(separator: ",")
        #expect(
            trial.grouped.first?.value
                == [
                    #"{"devices":[\#(devices)],"environment":"production","headers":{"apns-topic":"com.example.App","#,
                    #""apns-push-type":"background","apns-priority":"5","apns-expiration":"1751900400","#,
                    #""apns-collapse-id":"msg-1751896800000-vsgxl8m52"},"#,
                    #""payload":{"aps":{"content-available":1},"default":"{}"}}"#,
                ].joined())
    }

    @Test("orders: each device's record is byte for byte the single one", arguments: [false, true])
    func orders(isShown: Bool) throws {
        let json = """
            {"default":"en","languages":{"en":{"order_created":{"title":"Order {visible_id}","body":"New"}},\
            "de":{"order_created":{"title":"Bestellung {visible_id}","body":"Neu"}}}}
            """
        var settings = Self.everyHeader
        if isShown { settings.display = try DisplayTemplates(json: Array(json.utf8)) }
        var batch = EventBatch()
        batch.add(payload: #"{"data":{"visible_id":"A \"17\""}}"#, orderType: .food)
        batch.add(orderID: "", messageID: "msg-1751896800000-aaaaaaaa2", isDegraded: true)
        batch.add(messageID: "msg-1751896800000-aaaaaaaa3", eventType: .orderStatusChanged, isSameEvent: true)
        let trial = try GroupedTrial(batch, to: Self.mixed, settings)
        #expect(try trial.expanded().sorted() == trial.single.sorted())
        #expect(trial.grouped.count < trial.single.count)
        // Platform, app, environment and language: those of the single records, each once.
        #expect(trial.grouped.allSatisfy { $0.key == "place/7" })
        #expect(
            trial.grouped.first { $0["x-degraded"] != nil }?.headers.map(\.name)
                == [
                    "message-id", "platform", "source", "expires-at", "event-type", "audience", "app", "order-id",
                    "devices", "x-degraded",
                ])
    }

    @Test("a message that is shown has a record for each language, one that is silent has one")
    func languages() throws {
        let json = """
            {"default":"en","languages":{"en":{"order_created":{"title":"T","body":"New"}},\
            "de":{"order_created":{"title":"T","body":"Neu"}}}}
            """
        var devices = (0..<6).map { Subscription.fcm("t\($0)") }
        for index in devices.indices { devices[index].locale = ["de", "en", "fr"][index % 3] }
        var batch = EventBatch()
        batch.add(payload: #"{"data":{}}"#)
        let shown = RenderSettings(display: try DisplayTemplates(json: Array(json.utf8)))
        #expect(try GroupedTrial(batch, to: devices, shown).sizes.sorted() == [2, 4])
        #expect(try GroupedTrial(batch, to: devices).sizes == [6])
    }

    @Test("requests: each device's record is byte for byte the single one")
    func requests() throws {
        var random = RandomRequests(seed: try RunSeed.value())
        var batch = EventBatch(.requests, topic: "notifications.requests")
        for _ in 0..<200 { batch.add(random.next()) }
        let trial = try GroupedTrial(batch, to: Self.mixed, Self.everyHeader)
        #expect(try trial.expanded().sorted() == trial.single.sorted())
        #expect(trial.grouped.allSatisfy { $0["order-id"] == nil && $0["devices"] != nil })
    }

    @Test("a group never spans audiences, and its key is the one by which its devices were found first")
    func audiences() throws {
        struct Both: AudienceRule {
            func addAudiences(
                of events: borrowing EventBatch, notifications: Range<Int>, to audiences: inout AudienceList
            ) {
                for index in notifications {
                    audiences.append("place/7", for: index)
                    audiences.append("user/9", for: index)
                }
            }
        }
        let devices: [Subscription] = [
            .fcm("both"), .fcm("both", of: "user/9"), .fcm("place"), .fcm("user", of: "user/9"),
        ]
        var batch = EventBatch()
        batch.add()
        let trial = try GroupedTrial(batch, to: devices, RenderSettings(optionalHeaders: [.audience]), rule: Both())
        #expect(trial.grouped.map(\.key) == ["place/7", "user/9"])
        #expect(trial.grouped.map { $0["audience"] } == ["place/7", "user/9"])
        #expect(trial.sizes == [2, 1])
        // In the order of the devices, too.
        #expect(try trial.expanded() == trial.single)
    }

    @Test("a group is cut after 500 devices, in the order of the table")
    func mostDevices() throws {
        let devices = (0..<1_201).map { Subscription.fcm("t\($0)") }
        var batch = EventBatch()
        batch.add()
        let trial = try GroupedTrial(batch, to: devices)
        #expect(trial.sizes == [500, 500, 201])
        #expect(try trial.expanded() == trial.single)
    }

    @Test("a group is cut before its value has more than 700,000 bytes")
    func mostBytes() throws {
        let devices = (0..<400).map {
            Subscription.fcm("\($0)" + String(repeating: $0 % 2 == 0 ? "\"" : "x", count: 4_000))
        }
        var batch = EventBatch()
        batch.add()
        let trial = try GroupedTrial(batch, to: devices)
        #expect(trial.grouped.count > 2 && trial.grouped.allSatisfy { $0.value.utf8.count <= 700_000 })
        // Room for one more, whose quotes would all be escaped, is kept.
        #expect(trial.grouped.dropLast().allSatisfy { $0.value.utf8.count > 650_000 })
        #expect(try trial.expanded() == trial.single)
    }

    @Test("with more kinds of devices than groups are open at a time, the oldest one is cut")
    func mostOpen() throws {
        let devices = (0..<400).map { number in
            var device = Subscription.fcm("t\(number)")
            device.app = "com.example.app\(number % 40)"
            return device
        }
        var batch = EventBatch()
        batch.add()
        let trial = try GroupedTrial(batch, to: devices, Self.everyHeader)
        #expect(trial.grouped.count > 40)
        #expect(try trial.expanded().sorted() == trial.single.sorted())
    }

    @Test("an order's own headers come after the number of devices, and the optional ones before it")
    func headers() throws {
        let memory = Memory()
        defer { withExtendedLifetime(memory) {} }
        var batch = EventBatch()
        batch.add()
        batch.headers.append(EventHeader(name: memory.copy("traceparent"), value: memory.copy("00-ab-cd-01")))
        batch.records[0].headers = 0..<1
        for settings in [RenderSettings(), Self.everyHeader] {
            let trial = try GroupedTrial(batch, to: Self.mixed, settings)
            #expect(trial.grouped.allSatisfy { $0.headers.suffix(2).map(\.name) == ["devices", "traceparent"] })
            #expect(try trial.expanded().sorted() == trial.single.sorted())
        }
    }

    @Test(
        "broadcasts: each device's record is byte for byte the single one",
        arguments: RenderSettings.BroadcastLanguage.allCases)
    func broadcasts(_ language: RenderSettings.BroadcastLanguage) throws {
        let texts = ["en", "de"].map { Broadcast.Text(language: $0, title: "T \($0)", message: "\"M\"") }
        let devices = RenderedBroadcast.devices(["de", "en", "fr", nil, "de-AT"])
        for broadcast: BroadcastNotification in [.display(texts, poster: "https://a.example/p.png"), .nonDisplay("x")] {
            let settings = RenderSettings(optionalHeaders: [.audience, .app], broadcastLanguage: language)
            let (single, grouped) = try RenderedBroadcast.both(broadcast, settings, to: devices)
            let expanded = try grouped.flatMap { try $0.expanded() }
            #expect(expanded.sorted() == single.sorted())
            // Two platforms; the text that is shown differs for iOS even where all languages are sent.
            let isShown: Bool = { if case .display = broadcast.content { true } else { false } }()
            #expect(grouped.count == (isShown ? 4 : 2))
            #expect(grouped.allSatisfy { $0.key == "channel/General/3" && $0["audience"] == "channel/General" })
        }
    }
}
