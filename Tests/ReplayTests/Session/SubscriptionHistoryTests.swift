import StageSupport
import Testing

@testable import Notifications
@testable import Replay

@Suite("The subscriptions of the past")
struct SubscriptionHistoryTests {
    @Test("locale and time of registration are kept with the device, in the table and in its history")
    func registration() throws {
        var subscription = Subscription.fcm("a")
        subscription.locale = "en-GB"
        subscription.registeredAt = 1_700_000_000_000
        let table = SubscriptionTable.inMemory()
        try table.store(subscription, .fcm("b"))
        let history = try SubscriptionHistory(Scratch())
        for (offset, each) in [subscription, .fcm("b")].enumerated() {
            try Array(each.key.utf8).withUnsafeBytes { key in
                try each.encoded().withUnsafeBytes { value in
                    try history.append(
                        SubscriptionRecord(partition: 0, offset: Int64(offset), key: key, value: value), at: 0)
                }
            }
        }
        var reader = try table.makeReader()
        try reader.begin()
        let then = try history.makeReader(.now)
        var list = DeviceList()
        for source in 0..<2 {
            list.removeAll(audiences: 1)
            let audience = UnsafeRawBufferPointer("place/7" as StaticString)
            if source == 0 {
                try reader.addDevices(of: audience, as: 0, limit: 9, to: &list)
            } else {
                try then.addDevices(of: audience, as: 0, limit: 9, to: &list)
            }
            let found = list.devices.map {
                (String(decoding: $0.token, as: UTF8.self), String(decoding: $0.locale, as: UTF8.self), $0.registeredAt)
            }.sorted { $0.0 < $1.0 }
            #expect(found.map(\.0) == ["a", "b"])
            #expect(found.map(\.1) == ["en-GB", ""])
            #expect(found.map(\.2) == [subscription.registeredAt, nil])
        }
    }
}
