extension OrderPayload {
    /// Reads the `data` of a push: its `default`, or the legacy flat form where there is none (document 1, "Mobile App
    /// Message Handler").
    ///
    /// - Throws: ``OrderPayloadError/unreadable``. A payload that can be read may still be invalid: ``validate()``.
    public init(data: [String: String]) throws(OrderPayloadError) {
        guard let encoded = data["default"], !encoded.isEmpty else {
            self.init(fields: data)
            return
        }
        try self.init(encoded: encoded)
    }

    /// Reads the value of `default`.
    ///
    /// - Throws: ``OrderPayloadError/unreadable``.
    public init(encoded: String) throws(OrderPayloadError) {
        var parser = PayloadParser(encoded)
        guard let fields = parser.parse() else { throw .unreadable }
        self.init(fields: fields)
    }

    private init(fields: [String: String]) {
        self.init(
            messageID: fields["message_id"] ?? "", orderID: fields["order_id"] ?? "",
            parentOrderID: fields["parent_order_id"] ?? "", visibleID: fields["visible_id"] ?? "",
            eventType: fields["event_type"] ?? "", deliveryDate: fields["delivery_date"] ?? "",
            startTime: fields["start_time"] ?? "", endTime: fields["end_time"] ?? "", placeID: fields["place_id"] ?? "")
        if let previous = fields["previous_status"] ?? fields["new_status"].map({ _ in "" }) {
            statusChange = StatusChange(
                previous: previous, new: fields["new_status"] ?? "", orderNumber: fields["order_number"] ?? "")
        }
    }
}
