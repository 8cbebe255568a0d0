import NotificationPayload
import Notifications

/// A record of the events topic, as a test specifies it.
public struct SampleRecord: Sendable {
    /// The order id, if the producer sets it.
    public var key: String?
    /// nil: a null value, which is a dead letter.
    public var value: [UInt8]?
    public var headers: [(name: String, value: String)]
    /// nil: the driver's clock.
    public var timestamp: WallTime?
    /// Below the driver's count of partitions.
    public var partition: Int32

    public init(
        key: String? = nil, value: [UInt8]?, headers: [(name: String, value: String)] = [],
        at timestamp: WallTime? = nil, partition: Int32 = 0
    ) {
        self.key = key
        self.value = value
        self.headers = headers
        self.timestamp = timestamp
        self.partition = partition
    }

    /// The same with a value of text.
    public init(
        key: String? = nil, value: String, headers: [(name: String, value: String)] = [],
        at timestamp: WallTime? = nil, partition: Int32 = 0
    ) {
        self.init(key: key, value: Array(value.utf8), headers: headers, at: timestamp, partition: partition)
    }

    /// An event of one order in the native envelope (docs/rules.md §5), with the order id as its key.
    ///
    /// - Parameters:
    ///   - id: of the order; its number is `N-<id>`.
    ///   - type: as producers write it, such as `ORDER_STATUS_CHANGED`.
    ///   - status: of the order; nil leaves it out.
    ///   - slot: `2025-07-07 14:00-16:00`, or `14:00-16:00` without a date; nil leaves it out.
    ///   - eventID: identifies duplicates of the event; nil leaves it out.
    ///   - time: the record's timestamp; nil: the driver's clock.
    ///   - occurred: when it happened; nil: at the record's timestamp.
    ///   - eventMembers: more members of the event as JSON, such as `"previous_status":"pending"`.
    ///   - orderMembers: more members of the order as JSON, such as `"order_type":"d2d"`.
    public static func order(
        _ id: String, _ type: String = "ORDER_CREATED", place: String, status: String? = nil, slot: String? = nil,
        eventID: String? = nil, at time: WallTime? = nil, occurred: WallTime? = nil, eventMembers: String? = nil,
        orderMembers: String? = nil
    ) -> SampleRecord {
        let order: [String?] = [
            member("id", id), member("order_number", "N-\(id)"), member("place_id", place),
            status.map { member("status", $0) }, slot.map(shipping(of:)), orderMembers,
        ]
        let event: [String?] = [
            eventID.map { member("event_id", $0) }, member("event_type", type),
            (occurred ?? time).map { "\"occurred_at\":\($0.milliseconds)" }, eventMembers, "\"order\":\(object(order))",
        ]
        return SampleRecord(key: id, value: object(event), at: time)
    }

    private static func object(_ members: [String?]) -> String {
        "{\(members.compactMap { $0 }.joined(separator: ","))}"
    }

    private static func member(_ name: String, _ value: String) -> String {
        var writer = ByteWriter(capacity: value.utf8.count + name.utf8.count + 8)
        writer.append("\"\(name)\":\"")
        writer.appendEscaped(value)
        writer.append("\"")
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// - Parameter slot: the date, if there is one, and the two times.
    private static func shipping(of slot: String) -> String {
        let words = slot.split(separator: " ").map(String.init)
        let times = (words.last ?? "").split(separator: "-", omittingEmptySubsequences: false).map(String.init)
        let members: [String?] = [
            words.count > 1 ? member("date", words[0]) : nil, member("start_time", times.first ?? ""),
            member("end_time", times.last ?? ""),
        ]
        return "\"shipping_info\":{\"slot\":\(object(members))}"
    }
}
