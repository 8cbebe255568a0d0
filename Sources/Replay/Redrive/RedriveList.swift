import Pipeline
import StateStore

/// The pushes of a re-drive in the order in which they are sent, which is the same in every run: by the place of the
/// event, then by hashes of the notification and of the device. In a scratch store. One owner, one thread.
package final class RedriveList {
    private static let flushLimit = 20_000
    private static let blockSize = 1_024

    /// A push on the list.
    struct Candidate {
        /// Digests of what a later push replaces, and of the notification: see ``Digest/init(ofOrder:at:)``.
        var subject: Digest
        var notification: Digest
        /// Time of the event or timer, in milliseconds since 1970.
        var time: Int64
        var type: String
        /// Those that its device may have subscribed to.
        var audiences: [String]
        var record: RenderedRecord

        func encoded() -> [UInt8] {
            var bytes = subject.bytes + notification.bytes + bigEndian(UInt64(bitPattern: time))
            bytes += bigEndian(UInt32(audiences.count))
            for text in [type] + audiences { bytes += bigEndian(UInt32(text.utf8.count)) + Array(text.utf8) }
            return bytes + record.encoded()
        }

        init(
            subject: Digest, notification: Digest, time: Int64, type: String, audiences: [String],
            record: RenderedRecord
        ) {
            self.subject = subject
            self.notification = notification
            self.time = time
            self.type = type
            self.audiences = audiences
            self.record = record
        }

        init(decoding bytes: UnsafeRawBufferPointer) {
            func part(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[range]) }
            var place = 40
            func number() -> Int {
                defer { place += 4 }
                return Int(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)))
            }
            func text() -> String {
                let count = number()
                defer { place += count }
                return String(decoding: part(place..<place + count), as: UTF8.self)
            }
            subject = Digest(part(0..<16))
            notification = Digest(part(16..<32))
            time = Int64(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 32, as: UInt64.self)))
            let count = number()
            type = text()
            audiences = (0..<count).map { _ in text() }
            record = RenderedRecord(decoding: part(place..<bytes.count))
        }
    }

    /// A push that is to be sent.
    package struct Entry {
        /// Its position in the list.
        package var key: [UInt8]
        package var record: RenderedRecord
        /// Digest of what a later push replaces.
        var subject: Digest
        /// Those that its device may have subscribed to.
        var audiences: [String]
        /// Time of the event or timer, in milliseconds since 1970.
        var time: Int64

        var identity: DispatchIdentity { RedriveList.identity(of: key) }

        /// Of its event.
        package var place: EventCoordinates { key.withUnsafeBytes { EventCoordinates(decoding: $0) } }
    }

    private let store: any OrderedStore
    private let reader: any StoreReader
    private var pending: [(key: [UInt8], value: [UInt8])] = []

    /// - Parameter store: empty, and used by nobody else.
    package init(store: any OrderedStore) throws(StoreError) {
        self.store = store
        reader = try store.makeReader()
    }

    /// Adds a push; adding it twice has no effect.
    func append(_ candidate: Candidate, as identity: DispatchIdentity) throws(StoreError) {
        pending.append((Self.key(identity, candidate.notification), candidate.encoded()))
        if pending.count >= Self.flushLimit { try flush() }
    }

    /// Writes what was added. Call it before reading.
    func flush() throws(StoreError) {
        reader.end()
        try store.write { writer throws(StoreError) in try writer.put(pending) }
        pending.removeAll()
        try reader.begin()
    }

    /// Iterates over the list in order and removes the pushes that `keeps` rejects.
    func filter(_ keeps: (_ key: [UInt8], DispatchIdentity, Candidate) throws -> Bool) throws {
        var last: [UInt8] = []
        while true {
            let block = try entries(after: last, limit: Self.blockSize)
            guard let end = block.last?.key else { return }
            var dropped: [[UInt8]] = []
            for (key, candidate) in block {
                if try !keeps(key, Self.identity(of: key), candidate) { dropped.append(key) }
            }
            if !dropped.isEmpty { try remove(dropped) }
            last = end
        }
    }

    /// The pushes after a key, at most `limit`.
    ///
    /// - Parameter key: of a push that may have been removed; empty: from the beginning.
    package func next(after key: [UInt8], limit: Int) throws(StoreError) -> [Entry] {
        try entries(after: key, limit: limit).map {
            Entry(
                key: $0.key, record: $0.candidate.record, subject: $0.candidate.subject,
                audiences: $0.candidate.audiences, time: $0.candidate.time)
        }
    }

    /// The key: an identity with the notification inserted after the event's place.
    private static func identity(of key: [UInt8]) -> DispatchIdentity {
        DispatchIdentity(decoding: Array(key[..<13] + key[29...]))
    }

    private static func key(_ identity: DispatchIdentity, _ notification: Digest) -> [UInt8] {
        identity.place + notification.bytes + identity.digest.bytes
    }

    private func entries(
        after key: [UInt8], limit: Int
    ) throws(StoreError) -> [(key: [UInt8], candidate: Candidate)] {
        var found: [StoreEntry] = []
        // The smallest greater key.
        let first = key + [0]
        try [UInt8]().withStored { prefix throws(StoreError) in
            try first.withStored { first throws(StoreError) in
                try reader.append(startingWith: prefix, from: key.isEmpty ? nil : first, limit: limit, to: &found)
            }
        }
        return found.map { (Array($0.key), Candidate(decoding: $0.value)) }
    }

    private func remove(_ keys: [[UInt8]]) throws(StoreError) {
        reader.end()
        try store.write { writer throws(StoreError) in
            for key in keys { try key.withStored { key throws(StoreError) in try writer.remove(key) } }
        }
        try reader.begin()
    }
}
