import Notifications
import StateStore
import Synchronization

/// Devices, people and subscriptions as this process knows them. One thread fills it; any thread asks.
///
/// What is asked for is nil, or empty, where there is none, or nothing is known.
package final class DeviceView: Sendable {
    private struct Known {
        var table: RegistrarTable?
        /// When the newest ends that were reached were asked for.
        var freshSince: ContinuousClock.Instant?
    }

    private let lock = Mutex(())
    /// Only with the lock.
    private nonisolated(unsafe) var known = Known()

    package init() {}

    /// - Parameters:
    ///   - table: nil: nothing is known from now on.
    ///   - freshSince: everything that was there by then is in it.
    package func replace(_ table: RegistrarTable?, freshSince: ContinuousClock.Instant? = nil) {
        lock.withLock { _ in known = Known(table: table, freshSince: freshSince) }
    }

    /// Changes the table.
    package func update<Value>(
        _ body: (RegistrarTable?) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try lock.withLock { _ throws(StoreError) in try body(known.table) }
    }

    package func reached(_ freshSince: ContinuousClock.Instant?) {
        lock.withLock { _ in known.freshSince = freshSince }
    }

    /// Whether everything that was there at most so long ago is known.
    package func isFresh(within age: Duration) -> Bool { isFresh(since: .now - age) }

    /// Whether everything that was there at this moment is known.
    package func isFresh(since moment: ContinuousClock.Instant) -> Bool {
        lock.withLock { _ in known.freshSince.map { $0 >= moment } ?? false }
    }

    package func device(_ id: DeviceID) throws(StoreError) -> DeviceState? {
        try update { table throws(StoreError) in try table?.device(id) }
    }

    package func owner(of address: AddressHash) throws(StoreError) -> DeviceID? {
        try update { table throws(StoreError) in try table?.owner(of: address) }
    }

    /// Those of a page of ``subscribers(of:after:limit:)``, each with the device that has its address; nil: none has.
    package func devices(
        of audience: ByteText, after last: AddressHash?, limit: Int
    ) throws(StoreError) -> [(subscriber: Subscriber, id: DeviceID?)] {
        try update { table throws(StoreError) in
            var found: [(Subscriber, DeviceID?)] = []
            for subscriber in try table?.subscribers(of: audience, after: last, limit: limit) ?? [] {
                found.append((subscriber, try table?.owner(of: subscriber.address)))
            }
            return found
        }
    }

    /// See ``RegistrarTable/subscribers(of:after:limit:)``.
    package func subscribers(
        of audience: ByteText, after last: AddressHash?, limit: Int
    ) throws(StoreError) -> [Subscriber] {
        try update { table throws(StoreError) in
            try table?.subscribers(of: audience, after: last, limit: limit) ?? []
        }
    }

    package func person(_ id: ByteText) throws(StoreError) -> PersonState? {
        try update { table throws(StoreError) in try table?.person(id) }
    }

    /// In the order of their ids.
    package func devices(of person: ByteText) throws(StoreError) -> [DeviceState] {
        try update { table throws(StoreError) in
            var states: [DeviceState] = []
            for id in try table?.devices(of: person) ?? [] {
                if let state = try table?.device(id) { states.append(state) }
            }
            return states
        }
    }

    package func erasure(of person: ByteText) throws(StoreError) -> WallTime? {
        try update { table throws(StoreError) in try table?.erasure(of: person)?.at }
    }

    /// See ``RegistrarCore/bringsBack(_:)``.
    package func bringsBack(_ change: DeviceChange) throws(StoreError) -> Bool {
        try update { table throws(StoreError) in
            guard let table else { return false }
            return try RegistrarCore(table).bringsBack(change)
        }
    }
}
