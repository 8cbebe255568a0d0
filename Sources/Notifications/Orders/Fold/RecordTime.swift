/// The time that a record counts as: its timestamp, but at most an hour after the clock of the transaction that
/// processes it (ADR 51). Otherwise one record from the future would expire everything else.
package enum RecordTime {
    /// As Kafka's own bound in `topics create`, `message.timestamp.after.max.ms`.
    package static let tolerance: Int64 = 3_600_000

    package static func latest(at clock: WallTime) -> WallTime { clock + tolerance }
}
