import JSONReader

/// The headers of a record that describe its event. If a name occurs twice, the last one counts, as for Kafka's own
/// `lastHeader`. The coordinates of the original record are an exception: the first ones after a mark of ours count. Each
/// later failure appends its own, and without a mark they say what another program did.
struct RecordHeaders {
    var isStructured = false
    var ceID: UnsafeRawBufferPointer?
    var ceSource: UnsafeRawBufferPointer?
    var ceType: UnsafeRawBufferPointer?
    var ceTime: UnsafeRawBufferPointer?
    /// Debezium's event id and type.
    var outboxID: UnsafeRawBufferPointer?
    var outboxType: UnsafeRawBufferPointer?
    /// The first `traceparent` that may go on.
    private(set) var traceparent: UnsafeRawBufferPointer?
    /// Whether there is one that may not.
    private var hasInvalidTraceparent = false
    /// Whether `x-error-code` of a dead letter of ours, or `replay-of` of one that was put back, came before.
    private var isMarked = false
    private var originalTopic: UnsafeRawBufferPointer?
    private var originalPartition: UnsafeRawBufferPointer?
    private var originalOffset: UnsafeRawBufferPointer?

    init() {}

    init(_ headers: ArraySlice<EventHeader>) {
        for header in headers {
            guard let value = header.value?.trimmed, !value.isEmpty else { continue }
            let name = JSONText(header.name)
            switch name.count {
            case 2 where name == "id": outboxID = value
            case 5 where name == "ce_id": ceID = value
            case 7 where name == "ce_type": ceType = value
            case 7 where name == "ce_time": ceTime = value
            case 9 where name == "ce_source": ceSource = value
            case 9 where name == "eventType": outboxType = value
            case 9 where name == "replay-of": isMarked = true
            case 11 where name == Traceparent.name:
                if let value = header.value, Traceparent.isValid(value) {
                    traceparent = traceparent ?? value
                } else {
                    hasInvalidTraceparent = true
                }
            case 12 where header.name.equalsIgnoringCase("content-type"):
                isStructured = value.hasPrefixIgnoringCase("application/cloudevents")
            case 12 where name == "x-error-code": isMarked = true
            case 22 where isMarked && name == "__connect.errors.topic": originalTopic = originalTopic ?? value
            case 23 where isMarked && name == "__connect.errors.offset": originalOffset = originalOffset ?? value
            case 26 where isMarked && name == "__connect.errors.partition":
                originalPartition = originalPartition ?? value
            default: break
            }
        }
    }

    /// Whether the record has a `traceparent`, and none that may go on.
    var lacksValidTraceparent: Bool { hasInvalidTraceparent && traceparent == nil }

    /// The original position of a record put back from the dead letters; nil for any other record.
    var original: (topic: UnsafeRawBufferPointer, partition: Int64, offset: Int64)? {
        guard let topic = originalTopic, let partition = Self.number(originalPartition), partition <= Int64(Int32.max),
            let offset = Self.number(originalOffset)
        else { return nil }
        return (topic, partition, offset)
    }

    private static func number(_ bytes: UnsafeRawBufferPointer?) -> Int64? {
        guard let bytes, bytes.count <= 18 else { return nil }
        var cursor = ASCIICursor(bytes)
        guard let number = cursor.digits(bytes.count) else { return nil }
        return Int64(number)
    }
}
