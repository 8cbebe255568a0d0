import JSONReader

extension DeadLetter {
    package static let nullValue = DeadLetter(.nullValue, "the record has no value; allowed is a JSON object")

    package static func valueTooLarge(_ count: Int) -> DeadLetter {
        DeadLetter(.valueTooLarge, "the value has \(count) bytes; at most \(EventLimits.maxValueSize) are allowed")
    }

    package static func unreadable(_ error: JSONError) -> DeadLetter {
        switch error {
        case .empty: DeadLetter(.invalidJSON, "the value is empty; allowed is a JSON object")
        case .invalidUTF8: DeadLetter(.invalidUTF8, "the value is not UTF-8")
        case .invalidNumber:
            DeadLetter(
                .invalidNumber,
                "the value has a number that JSON does not allow or that does not fit 64 bits, such as 01, 1e400 or 2^64"
            )
        case .tooDeep:
            DeadLetter(.tooDeep, "the value is nested more than \(JSONReader.maxDepth - 1) levels deep")
        case .invalidString:
            DeadLetter(
                .invalidJSON,
                "the value has a string with a raw control character, an unknown escape or half a surrogate pair")
        case .unclosed: DeadLetter(.invalidJSON, "the value ends in the middle of a JSON string")
        case .syntax: DeadLetter(.invalidJSON, "the value is not JSON")
        case .tooLarge, .outOfMemory: DeadLetter(.valueTooLarge, "there is no memory to read the value")
        }
    }

    package static func notAnEvent(_ reason: StaticString) -> DeadLetter {
        DeadLetter(.notAnEvent, "\(reason)")
    }

    package static let untyped = DeadLetter(
        .unknownType, "the event names no type: there is none in event_type, ce_type or the header eventType")

    package static func unknownType(_ name: UnsafeRawBufferPointer) -> DeadLetter {
        DeadLetter(
            .unknownType,
            "\(quote(name)) is no event type of an order, such as ORDER_CREATED; events.types declares others")
    }

    package static func noPlace(orderID: UnsafeRawBufferPointer?) -> DeadLetter {
        let order = orderID.map { "order \(quote($0))" } ?? "the event"
        return DeadLetter(
            .noPlace,
            "\(order) has no place: there is none in place_id, order.place_id, order.place.id or order.shipping_info.place_id"
        )
    }

    /// - Parameter templates: of the event's type, as they are written.
    package static func noAudience(orderID: UnsafeRawBufferPointer?, by templates: [String]) -> DeadLetter {
        let order = orderID.map { "order \(quote($0))" } ?? "the event"
        return DeadLetter(
            .noAudience, "\(order) has no audience: it has no id for \(templates.joined(separator: ", "))")
    }

    package static func tooManyAudiences(
        orderID: UnsafeRawBufferPointer?, by templates: [String], limit: Int
    ) -> DeadLetter {
        let order = orderID.map { "order \(quote($0))" } ?? "the event"
        return DeadLetter(
            .tooManyAudiences,
            "\(order) has more than \(limit) audiences, by \(templates.joined(separator: ", "))")
    }

    package static func missingStatus(orderID: UnsafeRawBufferPointer?) -> DeadLetter {
        let order = orderID.map { "order \(quote($0))" } ?? "the order"
        return DeadLetter(
            .missingStatus, "the status of \(order) changed to nothing: there is none in new_status or order.status")
    }

    package static let missingOrderID = DeadLetter(
        .missingOrderID, "the order has no id: there is none in order.id or order.order_number")

    package static func payloadTooLarge(_ count: Int) -> DeadLetter {
        DeadLetter(
            .payloadTooLarge,
            "the payload would have \(count) bytes or more; at most \(EventLimits.maxPayloadSize) are allowed")
    }

    /// - Parameter name: the payload's.
    package static func addedFieldTooLarge(_ name: UnsafeRawBufferPointer, _ count: Int) -> DeadLetter {
        DeadLetter(
            .payloadTooLarge,
            "the member \(quote(name)) has \(count) bytes; at most \(EventLimits.maxAddedFieldSize) are allowed")
    }

    /// - Parameters:
    ///   - message: the part of a provider's message that would be too large.
    ///   - limit: the provider's limit, in bytes.
    package static func payloadTooLarge(_ count: Int, in message: StaticString, limit: Int) -> DeadLetter {
        DeadLetter(.payloadTooLarge, "\(message) has \(count) bytes, at most \(limit) are allowed")
    }

    package static let tooManyOrderIDs = DeadLetter(
        .tooManyOrderIDs, "the event lists more than \(EventLimits.maxNotifications) orders")

    package static func tooManyDevices(limit: Int) -> DeadLetter {
        DeadLetter(.tooManyDevices, "more than \(limit) devices would get this event: see fan-out.max-devices")
    }

    package static func tooManyBytes(limit: Int) -> DeadLetter {
        DeadLetter(.tooManyBytes, "the pushes of this event have more than \(limit) bytes: see fan-out.max-bytes")
    }

    /// - Parameter error: the broker's name for the error.
    package static func eventRefused(_ error: String) -> DeadLetter {
        DeadLetter(.recordRefused, "the broker refuses what this event gives: \(error)")
    }

    /// - Parameter reason: what the client library says.
    package static func unreadableBatch(_ offsets: ClosedRange<Int64>, _ reason: String) -> DeadLetter {
        DeadLetter(
            .unreadableBatch,
            "the batch of offsets \(offsets.lowerBound) to \(offsets.upperBound) cannot be read: \(reason)")
    }

    /// - Parameter error: the broker's name for the error.
    package static func timerRefused(_ error: String) -> DeadLetter {
        DeadLetter(.recordRefused, "the broker refuses what this timer gives: \(error)")
    }

    /// - Parameter timeout: `transaction.timeout`.
    package static func eventOutlasts(_ timeout: Duration) -> DeadLetter { outlasts("event", timeout) }

    package static func timerOutlasts(_ timeout: Duration) -> DeadLetter { outlasts("timer", timeout) }

    private static func outlasts(_ source: StaticString, _ timeout: Duration) -> DeadLetter {
        DeadLetter(
            .transactionTimeout,
            "three times the broker did not take what this \(source) gives within transaction.timeout, \(timeout), in a transaction of its own"
        )
    }

    /// The value that was found, safe to print: at most 64 bytes, control characters as their code.
    package static func quote(_ bytes: UnsafeRawBufferPointer) -> String {
        var quoted = "\""
        for scalar in String(decoding: bytes.prefix(64), as: UTF8.self).unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
                quoted += "<U+\(String(scalar.value, radix: 16, uppercase: true))>"
            default:
                quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + (bytes.count > 64 ? "…\"" : "\"")
    }
}
