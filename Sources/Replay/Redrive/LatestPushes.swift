/// The latest notification of each order at a place, in a ``Scratch``. One owner, one thread.
final class LatestPushes {
    /// Position of a notification: a later one replaces an earlier one, by offset within a partition; across
    /// partitions, if an order's events went to several, by time.
    struct Rank: Equatable {
        var partition: Int32
        var offset: Int64
        /// Timers at an offset come before the record there.
        var isTimer: Bool
        var time: WallTime
    }

    private let insert: Statement
    private let select: Statement

    init(_ scratch: Scratch) throws {
        try scratch.run(
            """
            CREATE TABLE latest (subject PRIMARY KEY, notification, partition, offset, is_event, time) WITHOUT ROWID
            """)
        insert = try Statement(
            scratch,
            """
            INSERT INTO latest VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (subject) DO UPDATE SET
            (notification, partition, offset, is_event, time) =
            (excluded.notification, excluded.partition, excluded.offset, excluded.is_event, excluded.time)
            WHERE iif(partition = excluded.partition,
            (offset, is_event) <= (excluded.offset, excluded.is_event),
            (time, partition) <= (excluded.time, excluded.partition))
            """)
        select = try Statement(scratch, "SELECT 1 FROM latest WHERE subject = ? AND notification = ?")
    }

    /// Takes notifications of an order in any sequence.
    func note(_ notification: Digest, of order: Digest, _ rank: Rank) throws {
        try insert.run(order, notification, rank.partition, rank.offset, !rank.isTimer, rank.time)
    }

    /// Whether no later notification of the order is known.
    func isLatest(_ notification: Digest, of order: Digest) throws -> Bool {
        try select.hasRow(order, notification)
    }
}
