extension OrderPayload {
    /// Checks what document 1's own validator checks, and the ranges that it omits: its patterns accept 25:99 and
    /// 2025-13-45 (docs/rules.md §5.3 row 11). A missing ``visibleID`` is valid (row 3).
    public func validate() throws(OrderPayloadError) {
        let required = [
            ("message_id", messageID), ("order_id", orderID), ("parent_order_id", parentOrderID),
            ("event_type", eventType), ("delivery_date", deliveryDate), ("start_time", startTime),
            ("end_time", endTime), ("place_id", placeID),
        ]
        let missing = required.filter { $0.1.isEmpty }.map { $0.0 }
        guard missing.isEmpty else { throw .missingFields(missing) }
        guard Self.isDate(deliveryDate) else { throw .invalidDate(deliveryDate) }
        for time in [startTime, endTime] where !Self.isTime(time) {
            throw .invalidTime(time)
        }
    }

    private static func isDate(_ text: String) -> Bool {
        guard let numbers = numbers(of: text, separator: UInt8(ascii: "-"), lengths: [4, 2, 2]) else { return false }
        let (year, month, day) = (numbers[0], numbers[1], numbers[2])
        let isLeapYear = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let days = [31, isLeapYear ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return (1...12).contains(month) && day >= 1 && day <= days[month - 1]
    }

    private static func isTime(_ text: String) -> Bool {
        guard let numbers = numbers(of: text, separator: UInt8(ascii: ":"), lengths: [2, 2]) else { return false }
        return numbers[0] <= 23 && numbers[1] <= 59
    }

    /// The numbers of a text, each of exactly the given number of ASCII digits.
    private static func numbers(of text: String, separator: UInt8, lengths: [Int]) -> [Int]? {
        let parts = text.utf8.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.map(\.count) == lengths else { return nil }
        var numbers: [Int] = []
        for part in parts {
            var number = 0
            for byte in part {
                guard byte &- UInt8(ascii: "0") <= 9 else { return nil }
                number = number * 10 + Int(byte - UInt8(ascii: "0"))
            }
            numbers.append(number)
        }
        return numbers
    }
}
