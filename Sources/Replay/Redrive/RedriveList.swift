/// The pushes of a re-drive in the order in which they are sent, which is the same in every run: by the coordinates of the
/// event, then by hashes of the notification and of the device. In a ``Scratch``. One owner, one thread.
package final class RedriveList {
    /// A push on the list.
    package struct Entry {
        /// Its position in the list: a sort key of event, notification and device.
        package var key: [UInt8]
        package var record: RenderedRecord
        /// Digest of what a later push replaces: see ``Digest/init(ofOrder:at:)``.
        var subject: Digest
        var notification: Digest
        /// Time of the event or timer.
        var time: WallTime
        var type: String
        /// Those that its device may have subscribed to.
        var audiences: [String]

        /// The key is an identity with the notification inserted after the event's coordinates.
        var identity: DispatchIdentity { DispatchIdentity(decoding: Array(key[..<13] + key[29...])) }

        /// Of its event.
        package var coordinates: EventCoordinates { key.withUnsafeBytes { EventCoordinates(decoding: $0) } }

        init(
            _ identity: DispatchIdentity, subject: Digest, notification: Digest, time: WallTime, type: String,
            audiences: [String], record: RenderedRecord
        ) {
            key = identity.sortKey + notification.bytes + identity.digest.bytes
            self.record = record
            self.subject = subject
            self.notification = notification
            self.time = time
            self.type = type
            self.audiences = audiences
        }

        fileprivate init(_ row: Row) {
            key = Array(row.bytes(0))
            subject = Digest(row.bytes(1))
            notification = Digest(row.bytes(2))
            time = row.time(3)
            type = row.text(4)
            audiences = PackedTexts.strings(row.bytes(5))
            record = RenderedRecord(row, 6)
        }
    }

    private let insert: Statement
    private let select: Statement
    private let delete: Statement

    package init(_ scratch: Scratch) throws {
        try scratch.run(
            """
            CREATE TABLE list (position PRIMARY KEY, subject, notification, time, type, audiences, record, sources)
            WITHOUT ROWID
            """)
        insert = try Statement(scratch, "INSERT OR IGNORE INTO list VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
        select = try Statement(scratch, "SELECT * FROM list WHERE position > ? ORDER BY position LIMIT ?")
        delete = try Statement(scratch, "DELETE FROM list WHERE position = ?")
    }

    /// Adds a push; adding it twice has no effect.
    func append(_ entry: Entry) throws {
        try insert.run(
            entry.key, entry.subject, entry.notification, entry.time, entry.type, PackedTexts.pack(entry.audiences),
            entry.record.packed, entry.record.packedSources)
    }

    /// Iterates over the list in order and removes the pushes that `keeps` rejects.
    func filter(_ keeps: (Entry) throws -> Bool) throws {
        try select.bind([UInt8](), -1)
        while let row = try select.next() {
            let entry = Entry(row)
            if try !keeps(entry) { try delete.run(entry.key) }
        }
    }

    /// The pushes after a key, at most `limit`.
    ///
    /// - Parameter key: of a push that may have been removed; empty: from the beginning.
    package func next(after key: [UInt8], limit: Int) throws -> [Entry] {
        try select.bind(key, limit)
        var entries: [Entry] = []
        while let row = try select.next() { entries.append(Entry(row)) }
        return entries
    }
}
