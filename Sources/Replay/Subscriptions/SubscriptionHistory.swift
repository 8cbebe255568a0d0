import Digests
import StateStore

/// The history of all subscriptions, in a ``Scratch``: who was subscribed when the table was at given offsets.
///
/// Has every version that notifications.subscriptions still has. A record that is not a subscription changes nothing, as
/// in the table. One owner, one thread.
package final class SubscriptionHistory {
    /// Which of a device's versions counts.
    package enum View: String, CaseIterable, Sendable {
        /// The newest version below the table's offsets.
        case asOfEvent = "as-of-event"
        /// The newest version.
        case now
        /// The version at the time of the event, if the device is still subscribed.
        case both

        /// Whether it depends on how far the table was.
        package var dependsOnTablePosition: Bool {
            switch self {
            case .asOfEvent, .both: true
            case .now: false
            }
        }
    }

    private let scratch: Scratch
    private let insert: Statement
    private var changes = SubscriptionChanges()

    package init(_ scratch: Scratch) throws {
        // A null value ends a subscription.
        try scratch.run(
            """
            CREATE TABLE subscriptions (audience, device, partition, offset, time, value,
            PRIMARY KEY (audience, device, partition, offset)) WITHOUT ROWID
            """)
        self.scratch = scratch
        insert = try Statement(scratch, "INSERT OR REPLACE INTO subscriptions VALUES (?, ?, ?, ?, ?, ?)")
    }

    /// Adds a record, in any order.
    ///
    /// - Parameter time: the record's timestamp.
    package func append(_ record: SubscriptionRecord, at time: WallTime) throws {
        changes.removeAll()
        changes.append(record)
        guard changes.count > 0 else { return }
        let key = changes.key(0)
        try insert.run(
            UnsafeRawBufferPointer(rebasing: key[..<TableEntry.audienceCount]),
            UnsafeRawBufferPointer(rebasing: key[TableEntry.audienceCount...]), record.partition, record.offset, time,
            changes.value(0))
    }

    package func makeReader(_ view: View) throws -> SubscriptionHistoryReader {
        try SubscriptionHistoryReader(scratch, view)
    }
}

/// Reads a ``SubscriptionHistory`` instead of the table: the same devices in the same order.
package final class SubscriptionHistoryReader: PastSubscriptions {
    /// The versions of a device.
    private struct Versions {
        /// Of the table: audience and device.
        var key: [UInt8] = []
        /// Of the version that counts; empty if it ends the subscription, or if there is none.
        var value: [UInt8] = []
        /// By the newest version.
        var isSubscribed = false

        mutating func begin(_ audience: [UInt8], _ device: UnsafeRawBufferPointer) {
            key.removeAll(keepingCapacity: true)
            key.append(contentsOf: audience)
            key.append(contentsOf: device)
            value.removeAll(keepingCapacity: true)
        }

        mutating func note(_ version: UnsafeRawBufferPointer, counts: Bool) {
            isSubscribed = !version.isEmpty
            guard counts else { return }
            value.removeAll(keepingCapacity: true)
            value.append(contentsOf: version)
        }
    }

    /// The next offset, by partition of the subscriptions topic, of the table that the transaction saw.
    package var positions: [Int64] = []
    package let view: SubscriptionHistory.View
    private let ofAudience: Statement
    private let ofDevice: Statement
    private var audience = [UInt8](repeating: 0, count: TableEntry.audienceCount)
    private var versions = Versions()

    init(_ scratch: Scratch, _ view: SubscriptionHistory.View) throws {
        self.view = view
        ofAudience = try Statement(
            scratch,
            """
            SELECT device, partition, offset, value FROM subscriptions WHERE audience = ?
            ORDER BY device, partition, offset
            """)
        ofDevice = try Statement(
            scratch,
            """
            SELECT time, partition, offset, value FROM subscriptions WHERE audience = ? AND device = ?
            ORDER BY partition, offset
            """)
    }

    package func addDevices(
        of audience: UnsafeRawBufferPointer, as index: Int32, limit: Int, to list: inout DeviceList
    ) throws(SubscriptionTableError) {
        do throws(ScratchError) {
            try ofAudience.bind(hash(audience))
            var added = 0
            versions.key.removeAll(keepingCapacity: true)
            while added <= limit {
                let row = try ofAudience.next()
                let device = row?.bytes(0)
                if let row, let device, isCurrent(device) {
                    note(row)
                    continue
                }
                if addCurrent(as: index, to: &list) { added += 1 }
                guard let row, let device else { return }
                versions.begin(self.audience, device)
                note(row)
            }
        } catch {
            throw SubscriptionTableError(error)
        }
    }

    /// Every version of one device's subscription to an audience, in the order of the log.
    ///
    /// - Parameter tokenHash: the SHA-256 of its token, 64 lower-case hex digits.
    package func versions(of audience: String, tokenHash: String) throws -> [SubscriptionVersion] {
        var device = [UInt8](repeating: 0, count: 32)
        let isHash = device.withUnsafeMutableBytes { device in
            guard let start = device.baseAddress else { return false }
            return Array(tokenHash.utf8).withUnsafeBytes { Hex.read($0, to: start) }
        }
        guard isHash else { return [] }
        try ofDevice.bind(Array(audience.utf8).withUnsafeBytes { hash($0) }, device)
        let key = self.audience + device
        var found: [SubscriptionVersion] = []
        while let row = try ofDevice.next() {
            let value = row.bytes(3)
            let lastSeen = key.withUnsafeBytes {
                TableEntry.device(StoreEntry(key: $0, value: value), audience: 0)?.lastSeen
            }
            found.append(
                SubscriptionVersion(
                    time: row.time(0), isSubscribed: !value.isEmpty, isBelowPositions: isBelowPositions(row),
                    lastSeen: lastSeen))
        }
        return found
    }

    /// The audience as the table's keys have it.
    private func hash(_ audience: UnsafeRawBufferPointer) -> [UInt8] {
        withUnsafeTemporaryAllocation(byteCount: 32, alignment: 16) { hash in
            guard let start = hash.baseAddress else { return }
            TableEntry.writeAudience(audience, to: start)
            for index in 0..<TableEntry.audienceCount { self.audience[index] = hash[index] }
        }
        return self.audience
    }

    private func isCurrent(_ device: UnsafeRawBufferPointer) -> Bool {
        versions.key.count == TableEntry.keyCount
            && versions.key[TableEntry.audienceCount...].elementsEqual(device)
    }

    private func note(_ row: Row) {
        let counts =
            switch view {
            case .now: true
            case .asOfEvent, .both: isBelowPositions(row)
            }
        versions.note(row.bytes(3), counts: counts)
    }

    /// Adds the current device if the version that counts has it.
    private func addCurrent(as index: Int32, to list: inout DeviceList) -> Bool {
        guard !versions.key.isEmpty, !versions.value.isEmpty, view != .both || versions.isSubscribed else {
            return false
        }
        return versions.key.withUnsafeBytes { key in
            versions.value.withUnsafeBytes { list.append(copyOf: StoreEntry(key: key, value: $0), to: index) }
        }
    }

    private func isBelowPositions(_ row: Row) -> Bool {
        let partition = Int(row.number(1))
        return partition < positions.count && row.number(2) < positions[partition]
    }
}

extension SubscriptionTableError {
    fileprivate init(_ error: ScratchError) {
        self.init(error.isDiskFull ? .retry : .giveUp, error.description)
    }
}

/// One record of a device's subscription.
package struct SubscriptionVersion: Equatable, Sendable {
    /// The record's timestamp.
    package var time: WallTime
    package var isSubscribed: Bool
    /// Whether the table had it at the reader's positions.
    package var isBelowPositions: Bool
    package var lastSeen: WallTime?
}
