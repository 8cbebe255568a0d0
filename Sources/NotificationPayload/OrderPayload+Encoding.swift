extension OrderPayload {
    /// The value of `default` in the `data` of a push: `{"data":{…}}` in the document's field order, as
    /// `JSON.stringify` writes it. The server writes the same bytes by the same code.
    public func encoded() -> String {
        var writer = ByteWriter(capacity: 512)
        _ = withBytes { writer.append($0) }
        return String(unembedding: writer.bytes)
    }

    package func withBytes<Result>(_ body: (OrderPayloadBytes) -> Result) -> Result {
        var fields = [
            messageID, orderID, parentOrderID, visibleID, eventType, deliveryDate, startTime, endTime, placeID,
        ]
        if let statusChange {
            fields += [statusChange.previous, statusChange.new, statusChange.orderNumber]
        }
        let bytes = fields.flatMap { Array($0.utf8) }
        return bytes.withUnsafeBytes { bytes in
            var start = 0
            let parts = fields.map { field in
                let end = start + field.utf8.count
                defer { start = end }
                return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
            }
            return body(
                OrderPayloadBytes(
                    messageID: parts[0], orderID: parts[1], parentOrderID: parts[2], visibleID: parts[3],
                    eventType: parts[4], deliveryDate: parts[5], startTime: parts[6], endTime: parts[7],
                    placeID: parts[8],
                    statusChange: statusChange == nil
                        ? nil : .init(previous: parts[9], new: parts[10], orderNumber: parts[11])))
        }
    }
}
