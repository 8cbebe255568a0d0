import NotificationPayload
import Testing

@testable import Notifications

/// Each row of the tables of docs/rules.md §9 and §10: what the field adds to a message that does not have it.
@Suite("The fields of requests")
struct RequestFieldsTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var field: String
        var set: @Sendable (inout SampleRequest) -> Void
        /// By their paths, as JSON.
        var fcm: [String: String]
        var apns: [String: String]
        /// What is added if the message is silent.
        var silentFCM: [String: String] = [:]
        var silentAPNs: [String: String] = [:]
        var sendsNotificationCount = false

        var testDescription: String { field }
    }

    private static let android = "message.android.notification."
    private static let aps = "message.apns.payload.aps."

    static let rows: [Row] = [
        Row(
            field: "title", set: { $0.title = "T" }, fcm: ["message.notification.title": "\"T\""],
            apns: ["payload.aps.alert.title": "\"T\""]),
        Row(
            field: "body", set: { $0.body = "B" }, fcm: ["message.notification.body": "\"B\""],
            apns: ["payload.aps.alert.body": "\"B\""]),
        Row(
            field: "imageUrl", set: { $0.image = "https://a" },
            fcm: [
                "message.notification.image": "\"https://a\"", "message.apns.fcm_options.image": "\"https://a\"",
                aps + "mutable-content": "1",
            ], apns: ["payload.imageUrl": "\"https://a\"", "payload.aps.mutable-content": "1"],
            silentAPNs: ["payload.imageUrl": "\"https://a\""]),
        Row(
            field: "data.click_action", set: { $0.clickAction = "C" }, fcm: [android + "click_action": "\"C\""],
            apns: [:]),
        Row(
            field: "titleLocKey", set: { $0.titleKey = "K" },
            fcm: [android + "title_loc_key": "\"K\"", aps + "alert.title-loc-key": "\"K\""],
            apns: ["payload.aps.alert.title-loc-key": "\"K\""]),
        Row(
            field: "titleLocArgs",
            set: {
                $0.titleKey = "K"
                $0.titleArguments = ["a\"", ""]
            },
            fcm: [
                android + "title_loc_key": "\"K\"", android + "title_loc_args": #"["a\"",""]"#,
                aps + "alert.title-loc-key": "\"K\"", aps + "alert.title-loc-args": #"["a\"",""]"#,
            ],
            apns: [
                "payload.aps.alert.title-loc-key": "\"K\"", "payload.aps.alert.title-loc-args": #"["a\"",""]"#,
            ]),
        Row(
            field: "bodyLocKey", set: { $0.bodyKey = "K" },
            fcm: [android + "body_loc_key": "\"K\"", aps + "alert.loc-key": "\"K\""],
            apns: ["payload.aps.alert.loc-key": "\"K\""]),
        Row(
            field: "bodyLocArgs",
            set: {
                $0.bodyKey = "K"
                $0.bodyArguments = ["a"]
            },
            fcm: [
                android + "body_loc_key": "\"K\"", android + "body_loc_args": #"["a"]"#,
                aps + "alert.loc-key": "\"K\"", aps + "alert.loc-args": #"["a"]"#,
            ], apns: ["payload.aps.alert.loc-key": "\"K\"", "payload.aps.alert.loc-args": #"["a"]"#]),
        Row(field: "badge", set: { $0.badge = 0 }, fcm: [:], apns: ["payload.aps.badge": "0"]),
        Row(
            field: "badge with requests.notification-count", set: { $0.badge = .max },
            fcm: [android + "notification_count": "2147483647", aps + "badge": "2147483647"],
            apns: ["payload.aps.badge": "2147483647"], sendsNotificationCount: true),
        Row(
            field: "sound", set: { $0.sound = "S" }, fcm: [android + "sound": "\"S\"", aps + "sound": "\"S\""],
            apns: ["payload.aps.sound": "\"S\""]),
        Row(field: "icon", set: { $0.icon = "I" }, fcm: [android + "icon": "\"I\""], apns: [:]),
        Row(
            field: "category", set: { $0.category = "C" },
            fcm: [android + "tag": "\"C\"", aps + "category": "\"C\""], apns: ["payload.aps.category": "\"C\""]),
        Row(
            field: "collapseKey", set: { $0.collapseKey = "K" },
            fcm: [
                "message.android.collapse_key": "\"K\"", android + "tag": "\"K\"",
                "message.apns.headers.apns-collapse-id": "\"K\"", aps + "thread-id": "\"K\"",
            ], apns: ["headers.apns-collapse-id": "\"K\"", "payload.aps.thread-id": "\"K\""],
            silentFCM: [
                "message.android.collapse_key": "\"K\"", "message.apns.headers.apns-collapse-id": "\"K\"",
            ], silentAPNs: ["headers.apns-collapse-id": "\"K\""]),
        Row(
            field: "category and collapseKey",
            set: {
                $0.collapseKey = "K"
                $0.category = "C"
            },
            fcm: [
                "message.android.collapse_key": "\"K\"", android + "tag": "\"C\"",
                "message.apns.headers.apns-collapse-id": "\"K\"", aps + "thread-id": "\"K\"", aps + "category": "\"C\"",
            ],
            apns: [
                "headers.apns-collapse-id": "\"K\"", "payload.aps.thread-id": "\"K\"", "payload.aps.category": "\"C\"",
            ],
            silentFCM: [
                "message.android.collapse_key": "\"K\"", "message.apns.headers.apns-collapse-id": "\"K\"",
            ], silentAPNs: ["headers.apns-collapse-id": "\"K\""]),
        Row(
            field: "validUntil", set: { $0.expiresAt = requested + 61_999 },
            fcm: expiry("message.apns.", "61s"), apns: expiry(""), silentFCM: expiry("message.apns.", "61s"),
            silentAPNs: expiry("")),
        Row(
            field: "extras", set: { $0.custom = [("n", .number("1.5")), ("o", .object(["x": .null]))] },
            fcm: ["message.data.n": "\"1.5\"", "message.data.o": #""{\"x\":null}""#],
            apns: ["payload.n": "1.5", "payload.o.x": "null"],
            silentFCM: ["message.data.n": "\"1.5\"", "message.data.o": #""{\"x\":null}""#],
            silentAPNs: ["payload.n": "1.5", "payload.o.x": "null"]),
    ]

    private static func expiry(_ apns: String, _ ttl: String? = nil) -> [String: String] {
        var expected = [apns + "headers.apns-expiration": "\"\(requested.milliseconds / 1_000 + 61)\""]
        expected["message.android.ttl"] = ttl.map { "\"\($0)\"" }
        return expected
    }

    @Test("a request's collapse key is where the platform says", arguments: [false, true])
    func collapseKey(isSilent: Bool) throws {
        let rendered = try RenderedRequest(SampleRequest(isSilent: isSilent, collapseKey: "K"))
        for platform in Platform.allCases {
            let message =
                switch platform {
                case .fcm: rendered.fcm
                case .apns: rendered.apns
                }
            let path = platform.collapseKey.map(\.description).joined(separator: ".")
            #expect(try values(of: message)[path] == "\"K\"")
        }
    }

    @Test("§9, §10: a field is where the table says, and nowhere else", arguments: rows, [false, true])
    func field(_ row: Row, isSilent: Bool) throws {
        var sample = SampleRequest(isSilent: isSilent)
        let settings = RenderSettings(sendsNotificationCount: row.sendsNotificationCount)
        let without = try RenderedRequest(sample, settings)
        row.set(&sample)
        let with = try RenderedRequest(sample, settings)
        #expect(try added(with.fcm, without.fcm) == (isSilent ? row.silentFCM : row.fcm))
        #expect(try added(with.apns, without.apns) == (isSilent ? row.silentAPNs : row.apns))
    }

    /// The values that the first has and the second has not. Everything of the second is in the first.
    private func added(_ with: String, _ without: String) throws -> [String: String] {
        let (with, without) = (try values(of: with), try values(of: without))
        #expect(without.keys.allSatisfy { with[$0] != nil })
        return with.filter { without[$0.key] != $0.value }
    }
}
