extension OrderPayload {
    /// Reads the `data` of a push: its `default`, or the legacy flat form where there is none (document 1, "Mobile App
    /// Message Handler").
    ///
    /// - Throws: ``OrderPayloadError/unreadable``. A payload that can be read may still be invalid: ``validate()``.
    public init(data: [String: String]) throws(OrderPayloadError) {
        guard let encoded = data["default"], !encoded.isEmpty else {
            self.init { data[$0] }
            return
        }
        try self.init(encoded: encoded)
    }

    /// Reads the value of `default`.
    ///
    /// - Throws: ``OrderPayloadError/unreadable``.
    public init(encoded: String) throws(OrderPayloadError) {
        self.init(fields: try Self.fields(default: .string(encoded)))
    }

    /// The fields in the value of `default`, which is `{"data":{…}}` or a string that holds it.
    static func fields(default value: PushValue) throws(OrderPayloadError) -> [String: PushValue] {
        let content = value.string.map { PushValue(json: $0) } ?? value
        guard let fields = content?["data"]?.object else { throw .unreadable }
        return fields
    }

    init(fields: [String: PushValue]) {
        self.init { fields[$0]?.scalar }
    }

    private init(_ field: (String) -> String?) {
        self.init(
            messageID: field("message_id") ?? "", orderID: field("order_id") ?? "",
            parentOrderID: field("parent_order_id") ?? "", visibleID: field("visible_id") ?? "",
            eventType: field("event_type") ?? "", deliveryDate: field("delivery_date") ?? "",
            startTime: field("start_time") ?? "", endTime: field("end_time") ?? "", placeID: field("place_id") ?? "")
        let (previous, new) = (field("previous_status"), field("new_status"))
        if previous != nil || new != nil {
            statusChange = StatusChange(
                previous: previous ?? "", new: new ?? "", orderNumber: field("order_number") ?? "")
        }
    }
}
