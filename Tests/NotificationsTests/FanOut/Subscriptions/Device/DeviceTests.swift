import StageSupport
import StateStore
import Testing

@testable import Notifications

@Suite("A device")
struct DeviceTests {
    @Test("a device of a host's resolver has the given bytes, and neither locale, time of registration nor command")
    func resolved() {
        var list = DeviceList()
        list.removeAll(audiences: 1)
        list.append(token: "00ff", platform: .apns, app: "com.example", to: 0)
        let device = list.devices[0]
        #expect(String(decoding: device.token, as: UTF8.self) == "00ff")
        #expect(String(decoding: device.app, as: UTF8.self) == "com.example")
        #expect(device.locale.isEmpty)
        #expect(device.registeredAt == nil && device.command == nil)
    }

    @Test("a table that was filled before commands were known, or a kind of token, has another version")
    func version() {
        #expect(AddressKind.allCases == [.registrationToken, .installationID, .apnsToken])
        #expect(TableEntry.version == 6)
    }

    @Test("every platform, kind of token and environment has its own code; an entry with an unknown code is foreign")
    func codes() throws {
        #expect(AddressKind.allCases.allSatisfy { AddressKind(code: $0.code) == $0 })
        #expect(Set(AddressKind.allCases.map(\.code)).count == AddressKind.allCases.count)
        #expect(Platform.allCases.allSatisfy { $0.kinds.contains($0.usualKind) })
        #expect(Set(Platform.allCases.map(\.code)).count == Platform.allCases.count)
        // The code is a bit in a set of platforms, which is one byte.
        #expect(Platform.allCases.allSatisfy { PlatformSet.all.contains(PlatformSet($0)) && $0.code < 8 })
        #expect(PushEnvironment.allCases.allSatisfy { PushEnvironment(code: $0.code) == $0 })
        #expect(Set(PushEnvironment.allCases.map(\.code)).count == PushEnvironment.allCases.count)
        var changes = SubscriptionChanges()
        let record = TableRecord(.fcm("a"))
        let (key, value) = (try #require(record.key), try #require(record.value))
        key.withUnsafeBytes { key in
            value.withUnsafeBytes { value in
                changes.append(SubscriptionRecord(partition: 0, offset: 0, key: key, value: value))
            }
        }
        let written = changes.value(0)
        let stored = Array(try #require(written))
        // The kind, the environment, and whether the token must be escaped.
        for index in [1, 2, 3] {
            var bytes = stored
            func device() -> Device? {
                bytes.withUnsafeBytes {
                    TableEntry.device(StoreEntry(key: changes.key(0), value: $0), audience: 0)
                }
            }
            #expect(device() != nil)
            bytes[index] = 0xFF
            #expect(device() == nil)
        }
    }

    @Test(
        "a text that cannot be a locale is left out, and its device is kept",
        arguments: ["", String(repeating: "x", count: 256), "e n"])
    func oddLocale(locale: String) throws {
        var subscription = Subscription.fcm("a")
        subscription.locale = locale
        let table = SubscriptionTable.inMemory()
        #expect(try table.store(subscription).upserts == 1)
        var reader = try table.makeReader()
        try reader.begin()
        var list = DeviceList()
        list.removeAll(audiences: 1)
        try reader.addDevices(of: UnsafeRawBufferPointer("place/7" as StaticString), as: 0, limit: 9, to: &list)
        #expect(list.devices.map(\.locale.count) == [0])
    }
}
