import FuzzSupport

@testable import Notifications

/// A record of notifications.subscriptions: its key up to a newline, then its value; without a newline the whole input
/// is the value, and the key is derived from it. It is also read as several records (``BatchCheck``).
@c(LLVMFuzzerTestOneInput)
public func fuzzSubscription(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    BatchCheck.take(input(data, size))
    let (key, value) = input(data, size).split(at: [0x0A])
    let subscription = try? Subscription.decode(value: Array(value))
    if let subscription { checkRoundTrip(subscription) }
    if let key {
        apply(key, value, mayBe: subscription)
    } else if let subscription {
        Array(subscription.key.utf8).withUnsafeBytes { apply($0, value, mayBe: subscription) }
    } else {
        expect(change(nil, value, in: .inMemory()).malformed == 1, "a record without a key is malformed")
    }
    return 0
}

/// Adds the record to an empty table, and removes the device again.
private func apply(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, mayBe subscription: Subscription?) {
    let table = SubscriptionTable.inMemory()
    let added = change(key, value, in: table)
    expect(added.upserts + added.removals + added.malformed == 1, "a record with a value is one of three: \(added)")
    expect(added.removals == 0, "a value does not unsubscribe")
    let isWhole = subscription.map { Array($0.key.utf8) == Array(key) } ?? false
    expect((added.upserts == 1) == isWhole, "what can be read, under its own key, is in the table: \(added)")
    expect(added.examples.count == added.malformed, "what is skipped is described")
    if isWhole, let subscription {
        expectDevice(subscription, in: table)
    }
    let removed = change(key, nil, in: table)
    expect(removed.removals == added.upserts, "a null value takes out what was there, and nothing else")
    expect(must { try table.count() } == 0, "nothing is left")
}

private func change(
    _ key: UnsafeRawBufferPointer?, _ value: UnsafeRawBufferPointer?, in table: SubscriptionTable
) -> SubscriptionTableChange {
    let record = SubscriptionRecord(partition: 0, offset: 0, key: key, value: value)
    return must { try table.apply([record], nextOffsets: [1], at: .epoch) }
}

private func checkRoundTrip(_ subscription: Subscription) {
    let again = must { try Subscription.decode(value: subscription.encoded()) }
    expect(again == subscription, "written and read again it is the same: \(subscription), \(again)")
    must { try subscription.validate() }
}

/// A fan-out to the subscription's audience finds this device and no other.
private func expectDevice(_ subscription: Subscription, in table: SubscriptionTable) {
    var list = DeviceList()
    list.removeAll(audiences: 1)
    var audience = subscription.audience
    must {
        var reader = try table.makeReader()
        try reader.begin()
        try audience.withUTF8 {
            try reader.addDevices(of: UnsafeRawBufferPointer($0), as: 0, limit: 2, to: &list)
        }
        expect(list.devices.count == 1, "the audience has one device")
        let device = list.devices[0]
        expect(device.token.elementsEqual(subscription.token.utf8), "it has the token")
        expect(device.app.elementsEqual(subscription.app.utf8), "it has the app")
        expect(device.platform == subscription.platform, "it has the platform")
        expect(device.environment == subscription.environment, "it has the environment")
        expect(device.registeredAt == subscription.registeredAt, "it was registered when the record says")
        let hasLocale = device.locale.elementsEqual((subscription.locale ?? "").utf8)
        expect(hasLocale || device.locale.isEmpty, "it has the locale, or none where that can be no language tag")
        expect(device.lastSeen == subscription.lastSeenAt, "it was last seen when the record says")
    }
}
