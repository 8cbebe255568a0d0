import JSONReader

/// The statuses of an order that document 1 lists.
enum OrderStatus {
    /// The previous status if none is known: document 1's handler rejects an empty one.
    static var unknown: UnsafeRawBufferPointer {
        let name: StaticString = "unknown"
        return UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    }

    static func isKnown(_ status: UnsafeRawBufferPointer) -> Bool {
        let text = JSONText(status)
        switch status.count {
        case 6: return text == "picked" || text == "failed"
        case 7: return text == "pending" || text == "picking" || text == "shipped"
        case 9: return text == "collected" || text == "completed" || text == "cancelled"
        case 10: return text == "processing" || text == "retrieving"
        default: return false
        }
    }
}
