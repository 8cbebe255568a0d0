extension OrderPayload {
    /// Everything that is wrong, in the document's order: what document 1's own validator checks ("Payload
    /// Validation"), and the ranges that it omits, since its patterns accept 25:99 and 2025-13-45 (docs/rules.md §5.3
    /// row 11). A missing ``visibleID`` is valid (row 3).
    public var problems: [FieldProblem] {
        required.compactMap { field in
            field.format.accepts(field.value)
                ? nil : FieldProblem(field: field.name, found: field.value, allowed: field.format.allowed)
        }
    }

    /// What is wrong with the `data` of a push: the ``problems`` of the payload in it, or that it has none.
    public static func problems(in data: [String: String]) -> [FieldProblem] {
        do throws(OrderPayloadError) {
            return try OrderPayload(data: data).problems
        } catch {
            let allowed = #"JSON with an object "data": {"data":{…}}"#
            return [FieldProblem(field: "default", found: data["default"] ?? "", allowed: allowed)]
        }
    }

    /// Throws the first kind of ``problems``: missing fields, the date, then the times.
    public func validate() throws(OrderPayloadError) {
        let missing = required.filter { $0.value.isEmpty }.map(\.name)
        guard missing.isEmpty else { throw .missingFields(missing) }
        for field in required where !field.format.accepts(field.value) {
            switch field.format {
            case .text: throw .missingFields([field.name])
            case .date: throw .invalidDate(field.value)
            case .time: throw .invalidTime(field.value)
            }
        }
    }

    private struct Required {
        var name: String
        var value: String
        var format: Format
    }

    /// The fields that document 1's validator requires, in its order.
    private var required: [Required] {
        [
            Required(name: "message_id", value: messageID, format: .text),
            Required(name: "order_id", value: orderID, format: .text),
            Required(name: "parent_order_id", value: parentOrderID, format: .text),
            Required(name: "event_type", value: eventType, format: .text),
            Required(name: "delivery_date", value: deliveryDate, format: .date),
            Required(name: "start_time", value: startTime, format: .time),
            Required(name: "end_time", value: endTime, format: .time),
            Required(name: "place_id", value: placeID, format: .text),
        ]
    }
}

private enum Format {
    case text, date, time

    var allowed: String {
        switch self {
        case .text: "a text of one character or more"
        case .date: "a day of the calendar as YYYY-MM-DD"
        case .time: "HH:MM from 00:00 to 23:59"
        }
    }

    func accepts(_ text: String) -> Bool {
        switch self {
        case .text: !text.isEmpty
        case .date: Self.isDate(text)
        case .time: Self.isTime(text)
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
