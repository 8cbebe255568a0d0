/// Which devices have which messages, whatever the source of the record, in a ``Scratch``. One owner, one thread.
///
/// In a log that was restored from a mirror, events have other offsets, so their pushes look unsent.
package final class SentPushes {
    private let insert: Statement
    private let select: Statement

    package init(_ scratch: Scratch) throws {
        try scratch.run("CREATE TABLE sent (push PRIMARY KEY) WITHOUT ROWID")
        insert = try Statement(scratch, "INSERT OR IGNORE INTO sent VALUES (?)")
        select = try Statement(scratch, "SELECT 1 FROM sent WHERE push = ?")
    }

    /// Takes a record of the dispatch topic; ignores one without a message id.
    func append(_ record: DispatchRecord) throws {
        if let messageID = record[.messageID] { try insert.run(Digest(of: messageID, to: record.key)) }
    }

    func contains(_ record: DispatchRecord) throws -> Bool {
        guard let messageID = record[.messageID] else { return false }
        return try select.hasRow(Digest(of: messageID, to: record.key))
    }
}

extension Digest {
    /// The identity of a message to a device.
    init(of messageID: some Collection<UInt8>, to device: some Collection<UInt8>) {
        self.init(hashing: Array(messageID) + [0] + Array(device))
    }
}
