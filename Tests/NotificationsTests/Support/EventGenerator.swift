import Notifications
import TestSupport

/// Generates events whose members have the right names and any value, from likely to absurd.
struct EventGenerator {
    var random: SeededGenerator

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    private static let leaves = [
        "null", "true", "false", "0", "-1", "7", "1751896800", "1751896800000", "253402300799999", "253402300800000",
        "9223372036854775807", "18446744073709551615", "-9223372036854775808", "1.5", "1e21", "-0.0", "5e-324",
        "1751896800.25", "\"\"", "\" \"", "\"a\"", "\"14:00\"", "\"24:00\"", "\"2 PM\"", "\"2-4 PM\"", "\"10-12 PM\"",
        "\"14:00–16:00\"", "\"14:00 to 16:00\"", "\"25:99\"", "\"٠١:٣٠\"", "\"2025-07-07\"", "\"2025-02-30\"",
        "\"2025-07-07T14:00:00Z\"", "\"2025-07-07T24:00:00+02:00\"", "\"9999-12-31T23:59:59-12:00\"",
        "\"0001-01-01T00:00:00+14:00\"", "\"07/07/2025\"", "\"1751896800\"", "\"pending\"", "\"picked\"", "\"food\"",
        "\"D2D\"", "\"\\u0000\\u001f\\\"\\\\\"", "\"é😀\\u2028\"", "\"--------\"", "\"to to to\"", "\"ORDER_CREATED\"",
        "\"order.created.v1\"", "[]", "{}", "[[[]]]", "[\"14:00\",\"16:00\"]", "[1,2,2]", "{\"start\":\"14:00\"}",
        "{\"from\":1,\"to\":\"x\"}", "{\"id\":\"x\"}",
    ]
    private static let types = [
        "ORDER_CREATED", "ORDER_STATUS_CHANGED", "TIMESLOT_STARTED", "event_unpicked_orders_reminder",
        "orders.order.ids.listed.v2", "ORDER_IDS_LISTED", "nonsense",
    ]

    mutating func chance(_ percent: UInt64) -> Bool {
        random.next() % 100 < percent
    }

    private mutating func pick(_ values: [String]) -> String {
        values[Int(random.next() % UInt64(values.count))]
    }

    private mutating func object(_ members: [(String, () -> String)]) -> String {
        var text: [String] = []
        for (name, value) in members where chance(70) {
            text.append("\"\(name)\":\(chance(15) ? pick(Self.leaves) : value())")
        }
        if chance(10), let first = text.first {
            text.append(first)
        }
        return "{" + text.shuffled(using: &random).joined(separator: ",") + "}"
    }

    mutating func order() -> String {
        let leaf = (0..<16).map { _ in pick(Self.leaves) }
        let slot = object([
            ("start_time", { leaf[0] }), ("end_time", { leaf[1] }), ("date", { leaf[2] }),
            ("delivery_date", { leaf[3] }),
        ])
        let pickup = object([("time_slot", { leaf[4] })])
        let shipping = object([("slot", { slot }), ("pickup_details", { pickup }), ("place_id", { leaf[5] })])
        let metadata = object([("delivery_slot_start", { leaf[6] }), ("delivery_slot_end", { leaf[7] })])
        return object([
            ("id", { leaf[8] }), ("order_number", { leaf[9] }), ("reference_id", { leaf[10] }),
            ("parent_order_id", { leaf[11] }), ("place_id", { "\"p1\"" }), ("place", { #"{"id":"p2"}"# }),
            ("status", { leaf[12] }), ("order_type", { leaf[13] }), ("type", { leaf[14] }),
            ("order_date", { leaf[15] }),
            ("metadata", { metadata }), ("shipping_info", { shipping }),
        ])
    }

    mutating func event() -> TestRecord {
        let orders = (0..<Int(random.next() % 4)).map { _ in order() }
        let ids = (0..<Int(random.next() % 20)).map { _ in pick(Self.leaves) }
        let type = pick(Self.types)
        let leaf = (0..<6).map { _ in pick(Self.leaves) }
        let single = order()
        var value = object([
            ("event_type", { "\"\(type)\"" }), ("event_id", { leaf[0] }), ("occurred_at", { leaf[1] }),
            ("place_id", { "\"p0\"" }), ("previous_status", { leaf[2] }), ("new_status", { leaf[3] }),
            ("order", { single }), ("orders", { "[\(orders.joined(separator: ","))]" }),
            ("order_ids", { "[\(ids.joined(separator: ","))]" }), ("slot", { leaf[4] }), ("delivery_date", { leaf[5] }),
        ])
        if chance(10) {
            value = "{\"schema\":{},\"payload\":\(value)}"
        }
        if chance(10) {
            value = "\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
        }
        if chance(10) {
            value = "{\"specversion\":\"1.0\",\"type\":\"\(type)\",\"id\":\"1\",\"source\":\"s\",\"data\":\(value)}"
        }
        var record = TestRecord(value)
        if chance(20) {
            record.headers.append(("ce_type", Array(type.utf8)))
            record.headers.append(("ce_time", Array(leaf[0].utf8)))
        }
        if chance(10) {
            record.value = [0, 0, 0, 0, 1] + (record.value ?? [])
        }
        record.offset = Int64(random.next() % 1000)
        record.timestamp = chance(50) ? WallTime(milliseconds: Int64(bitPattern: random.next())) : nil
        return record
    }
}
