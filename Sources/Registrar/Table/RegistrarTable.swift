import JSONReader
import Notifications
import StateStore

/// The fold of what the registrar has written, and of the subscriptions, whoever wrote them: devices, people, whose an
/// address is, and which audiences it has. It is always safe to delete.
///
/// What a transaction changes is *staged* until its end; what was committed is *pending* until it is stored, so that the
/// store is behind what was committed, and never ahead. One owner; what it stores may be written by another thread.
package final class RegistrarTable {
    /// Of one address or one person, that one decision looks at. Who writes the topic may give an address more than its device
    /// has.
    static let mostSubscriptions = 10_000

    /// Of one key: the entries by what ends their keys; nil: it is removed.
    fileprivate typealias Changes = [RegistrarKey.Group: [[UInt8]: [UInt8]?]]

    /// So many entries may wait for the store.
    static let mostPending = 100_000

    private let store: any OrderedStore
    /// Nil once it was closed.
    private var reader: (any StoreReader)?
    private var json = JSONReader()
    private var parser = SubscriptionChanges()
    private var staged: Changes = [:]
    private var pending: Changes = [:]
    /// Older than what is pending: it is being written.
    private var storing: Changes = [:]
    /// The entries that wait for the store.
    private(set) var pendingCount = 0
    private var entries: [StoreEntry] = []

    package init(_ store: any OrderedStore) throws(StoreError) {
        self.store = store
        let reader = try store.makeReader()
        try reader.begin()
        self.reader = reader
    }

    // MARK: Reading

    package func device(_ id: DeviceID) throws(StoreError) -> DeviceState? {
        guard let value = try value(RegistrarKey.device(id)) else { return nil }
        guard let state = DeviceState(value, &json) else { throw Self.foreign }
        return state
    }

    package func person(_ id: ByteText) throws(StoreError) -> PersonState? {
        guard let value = try value(RegistrarKey.person(id)) else { return nil }
        guard let state = PersonState(value, &json) else { throw Self.foreign }
        return state
    }

    package func owner(of address: AddressHash) throws(StoreError) -> DeviceID? {
        guard let value = try value(RegistrarKey.owner(address)) else { return nil }
        guard let id = DeviceID(String(decoding: value, as: UTF8.self)) else { throw Self.foreign }
        return id
    }

    package func erasure(of person: ByteText) throws(StoreError) -> Erasure? {
        let person = PersonHash(person)
        guard let value = try value(RegistrarKey.erasure(person)) else { return nil }
        guard let erasure = Erasure(person, value, &json) else { throw Self.foreign }
        return erasure
    }

    /// When an address was erased last.
    func erasure(of address: AddressHash) throws(StoreError) -> WallTime? {
        guard let value = try value(RegistrarKey.erasure(address)) else { return nil }
        guard let milliseconds = Int64(String(decoding: value, as: UTF8.self)) else { throw Self.foreign }
        return WallTime(milliseconds: milliseconds)
    }

    /// In the order of their ids.
    package func devices(of person: ByteText) throws(StoreError) -> [DeviceID] {
        var ids: [DeviceID] = []
        for (rest, _) in try entries(RegistrarKey.devices(of: person)) {
            guard let id = DeviceID(String(decoding: rest, as: UTF8.self)) else { throw Self.foreign }
            ids.append(id)
        }
        return ids
    }

    /// Those that are subscribed to `user/<id>`, whoever wrote it, at most ``mostSubscriptions``, in the order of their hashes.
    func addresses(of person: ByteText) throws(StoreError) -> [AddressHash] {
        var found: [AddressHash] = []
        for (rest, _) in try entries(RegistrarKey.addresses(of: person)) {
            guard let address = AddressHash(bytes: rest) else { throw Self.foreign }
            found.append(address)
        }
        return found
    }

    /// What an address is subscribed to, in the order of the audiences' hashes.
    package func subscriptions(
        of address: AddressHash
    ) throws(StoreError) -> [(audience: ByteText, entry: SubscriptionEntry)] {
        var found: [(audience: ByteText, entry: SubscriptionEntry)] = []
        for (_, value) in try entries(RegistrarKey.subscriptions(of: address)) {
            guard let entry = SubscriptionEntry(value) else { throw Self.foreign }
            let audience = value[SubscriptionEntry.size...]
            found.append((ByteText(String(decoding: audience, as: UTF8.self)), entry))
        }
        return found
    }

    func subscription(_ key: SubscriptionKey) throws(StoreError) -> SubscriptionEntry? {
        guard let address = AddressHash(hex: key.tokenHash) else { return nil }
        let rest = RegistrarKey.hash(ByteText(key.audience))
        return try value(RegistrarKey.subscriptions(of: address), ending: rest).flatMap { SubscriptionEntry($0) }
    }

    /// Who is subscribed to an audience, in the order of the hashes of the addresses: of a table that is filled by
    /// ``set(_:)-(SubscriptionRecord)``. Costs what it returns, and what is pending of the audience.
    ///
    /// - Parameter last: only those behind this one; nil: from the first one on.
    package func subscribers(
        of audience: ByteText, after last: AddressHash?, limit: Int
    ) throws(StoreError) -> [Subscriber] {
        var found: [Subscriber] = []
        for (rest, value) in try entries(RegistrarKey.subscribers(of: audience), after: last?.bytes, limit: limit) {
            guard let subscriber = Subscriber(address: rest, value) else { throw Self.foreign }
            found.append(subscriber)
        }
        return found
    }

    // MARK: Folding

    /// Takes a record of `notifications.devices`.
    package func set(_ id: DeviceID, _ state: DeviceState?) throws(StoreError) {
        let before = try device(id)
        if let live = before?.live, live.hash != state?.live?.hash, try owner(of: live.hash) == id {
            stage(RegistrarKey.owner(live.hash), nil)
        }
        if let person = before?.person, person != state?.person {
            stage(RegistrarKey.devices(of: person), ending: Array(id.text.utf8), nil)
        }
        if let live = state?.live, try !isOwned(live, byNewerThan: state, id) {
            stage(RegistrarKey.owner(live.hash), Array(id.text.utf8))
        }
        if let person = state?.person {
            stage(RegistrarKey.devices(of: person), ending: Array(id.text.utf8), [])
        }
        stage(RegistrarKey.device(id), state?.json)
    }

    /// Whether the present owner of an address has it since later. Devices are in several partitions, which have no common
    /// order: what another one had before may be read afterwards.
    private func isOwned(
        _ address: Address, byNewerThan state: DeviceState?, _ id: DeviceID
    ) throws(StoreError) -> Bool {
        guard let state, let owner = try owner(of: address.hash), owner != id, let other = try device(owner),
            let theirs = other.live, theirs.hash == address.hash
        else { return false }
        return (theirs.since, other.revision) > (address.since, state.revision)
    }

    /// Takes a record of `notifications.people`.
    package func set(_ id: ByteText, _ state: PersonState?) {
        stage(RegistrarKey.person(id), state?.json)
    }

    /// Takes a record of `notifications.erasures`.
    package func set(_ erasure: Erasure) throws(StoreError) {
        stage(RegistrarKey.erasure(erasure.person), erasure.json)
        for (address, time) in erasure.addresses {
            let last = try max(time, self.erasure(of: address) ?? time)
            stage(RegistrarKey.erasure(address), Array(String(last.milliseconds).utf8))
        }
    }

    /// Takes a record of `notifications.subscriptions`, in the partition of its key.
    ///
    /// - Parameters:
    ///   - value: nil: a tombstone.
    ///   - time: when it was written, by the broker or its producer.
    package func set(_ key: SubscriptionKey, _ value: [UInt8]?, written time: WallTime? = nil) {
        set(key, value.map { SubscriptionEntry(key, $0, written: time, &json) })
    }

    /// - Parameter entry: nil: a tombstone.
    func set(_ key: SubscriptionKey, _ entry: SubscriptionEntry?) {
        guard let address = AddressHash(hex: key.tokenHash) else { return }
        stage(
            RegistrarKey.subscriptions(of: address), ending: RegistrarKey.hash(ByteText(key.audience)),
            entry.map { $0.bytes + Array(key.audience.utf8) })
        guard let person = ByteText(key.audience).person else { return }
        stage(RegistrarKey.addresses(of: person), ending: address.bytes, entry.map { _ in [] })
    }

    /// Takes a record of `notifications.subscriptions`, for who is subscribed to an audience. One that is no subscription, or
    /// lies in another partition than its key's, changes nothing, as in the pipeline.
    package func set(_ record: SubscriptionRecord) {
        parser.removeAll()
        parser.append(record)
        guard parser.count == 1 else { return }
        let key = parser.key(0)
        let value = parser.value(0).flatMap { TableEntry.device(StoreEntry(key: key, value: $0), audience: 0) }
        stage(
            RegistrarKey.subscribers(ofHashed: key), ending: Array(key.dropFirst(TableEntry.audienceCount)),
            value.map(Subscriber.bytes))
    }

    // MARK: Transactions

    /// What is staged was committed.
    package func commit() {
        add(staged)
        staged.removeAll(keepingCapacity: true)
    }

    private func add(_ changes: Changes) {
        for (group, entries) in changes {
            let before = pending[group]?.count ?? 0
            pending[group, default: [:]].merge(entries) { $1 }
            pendingCount += pending[group, default: [:]].count - before
        }
    }

    package func abort() {
        staged.removeAll(keepingCapacity: true)
    }

    /// What was committed, to be written beside whatever its owner does with the table, and then ended.
    package struct Flush {
        fileprivate let store: any OrderedStore
        fileprivate let changes: Changes
        fileprivate let checkpoint: [UInt8]

        package func write() throws(StoreError) {
            let changes = changes.flatMap { group, entries in entries.map { (group.bytes + $0.key, $0.value) } }
                .sorted { $0.0.lexicographicallyPrecedes($1.0) }
            // Decisions would wait for the disk; a store that a machine has taken down with it is filled again anyway.
            try store.writeUnsynced { writer throws(StoreError) in
                for (key, value) in changes {
                    try key.withBytes { key throws(StoreError) in try writer.set(key, value) }
                }
                try checkpoint.withBytes { checkpoint throws(StoreError) in try writer.setCheckpoint(checkpoint) }
            }
        }
    }

    /// Begins to store what was committed: until ``end(_:isWritten:)`` it is read from here.
    ///
    /// - Parameter checkpoint: of what was folded.
    package func beginFlush(_ checkpoint: [UInt8]) -> Flush {
        (storing, pending, pendingCount) = (pending, [:], 0)
        return Flush(store: store, changes: storing, checkpoint: checkpoint)
    }

    /// Ends what was begun last. What could not be written is pending again.
    package func end(_ flush: Flush, isWritten: Bool) throws(StoreError) {
        if !isWritten {
            let newer = pending
            (pending, pendingCount) = (storing, storing.values.reduce(0) { $0 + $1.count })
            add(newer)
        }
        storing = [:]
        entries.removeAll(keepingCapacity: true)
        reader?.end()
        try reader?.begin()
    }

    /// That of what was stored last; nil: nothing was.
    package func checkpoint() throws(StoreError) -> [UInt8]? { try reader?.checkpoint().map { Array($0) } }

    /// Ends its use; nothing can be read afterwards.
    func close() throws(StoreError) {
        reader?.end()
        reader = nil
        entries.removeAll()
        try store.close()
    }

    // MARK: Entries

    private func stage(_ group: RegistrarKey.Group, ending rest: [UInt8] = [], _ value: [UInt8]?) {
        staged[group, default: [:]][rest] = .some(value)
    }

    /// - Parameter rest: what ends its key; nothing where a group has one entry.
    private func value(
        _ group: RegistrarKey.Group, ending rest: [UInt8] = []
    ) throws(StoreError) -> [UInt8]? {
        if let change = staged[group]?[rest] ?? pending[group]?[rest] ?? storing[group]?[rest] { return change }
        var found: [UInt8]?
        try (group.bytes + rest).withBytes { key throws(StoreError) in
            found = try reader?.value(for: key).map { Array($0) }
        }
        return found
    }

    /// Of a group, in the order of what ends their keys.
    ///
    /// - Parameter last: only those behind this one; nil: from the first one on.
    private func entries(
        _ group: RegistrarKey.Group, after last: [UInt8]? = nil, limit: Int = mostSubscriptions
    ) throws(StoreError) -> [(rest: [UInt8], value: [UInt8])] {
        var found = storing[group] ?? [:]
        for newer in [pending[group], staged[group]] { found.merge(newer ?? [:]) { $1 } }
        if let last { found = found.filter { last.lexicographicallyPrecedes($0.key) } }
        let first = last.map { group.bytes + $0 + [0] } ?? group.bytes
        entries.removeAll(keepingCapacity: true)
        try group.bytes.withBytes { prefix throws(StoreError) in
            try first.withBytes { first throws(StoreError) in
                // As many as are changed may be removed.
                try reader?.append(startingWith: prefix, from: first, limit: limit + found.count, to: &entries)
            }
        }
        for entry in entries {
            let rest = Array(entry.key.dropFirst(group.bytes.count))
            if found[rest] == nil { found[rest] = .some(Array(entry.value)) }
        }
        return Array(
            found.compactMap { rest, value in value.map { (rest: rest, value: $0) } }
                .sorted { $0.rest.lexicographicallyPrecedes($1.rest) }.prefix(limit))
    }

    private static var foreign: StoreError {
        StoreError(.damaged, "an entry of the registrar's table was written by another version")
    }
}
