import Notifications

/// One record for the table, which owns its bytes.
package struct TableRecord {
    package var key: [UInt8]?
    package var value: [UInt8]?
    /// Of the registrar, by which it was written.
    package var command: Int64?

    package init(key: [UInt8]?, value: [UInt8]?) {
        self.key = key
        self.value = value
    }

    package init(_ subscription: Subscription, command: Int64? = nil) {
        self.init(key: Array(subscription.key.utf8), value: subscription.encoded())
        self.command = command
    }

    package init(removing subscription: Subscription) {
        self.init(key: Array(subscription.key.utf8), value: nil)
    }
}

extension SubscriptionChanges {
    package mutating func append(_ records: some Sequence<TableRecord>) {
        for (index, record) in records.enumerated() {
            withOptionalBytes(record.key) { key in
                withOptionalBytes(record.value) { value in
                    var own = SubscriptionRecord(partition: 0, offset: Int64(index), key: key, value: value)
                    own.command = record.command
                    append(own)
                }
            }
        }
    }
}

extension SubscriptionTable {
    @discardableResult
    package func apply(_ records: [TableRecord], next: Int64 = 1, at time: WallTime = noon) throws
        -> SubscriptionTableChange
    {
        var changes = SubscriptionChanges()
        changes.append(records)
        var position = TablePosition.beginning(at: [next], time: time)
        position.isWhole = true
        return try apply(&changes, position)
    }

    /// Whether a worker could begin a transaction.
    package var hasSnapshot: Bool {
        get throws {
            var reader = try makeReader()
            do {
                try reader.begin()
                return true
            } catch {
                return false
            }
        }
    }

    @discardableResult
    package func store(_ subscriptions: Subscription...) throws -> SubscriptionTableChange {
        try apply(subscriptions.map { TableRecord($0) })
    }

    /// The tokens of an audience, sorted.
    package func tokens(of audience: String) throws -> [String] {
        var reader = try makeReader()
        try reader.begin()
        var list = DeviceList()
        list.removeAll(audiences: 1)
        var audience = audience
        try audience.withUTF8 {
            try reader.addDevices(of: UnsafeRawBufferPointer($0), as: 0, limit: Int.max - 1, to: &list)
        }
        return list.devices.map { String(decoding: $0.token, as: UTF8.self) }.sorted()
    }
}

private func withOptionalBytes(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> Void) {
    guard let bytes else {
        body(nil)
        return
    }
    bytes.withUnsafeBytes(body)
}
