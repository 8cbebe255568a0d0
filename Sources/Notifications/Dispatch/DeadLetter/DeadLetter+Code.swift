extension DeadLetter {
    public enum Code: UInt8, CaseIterable, Sendable {
        case nullValue, valueTooLarge, tooDeep, invalidUTF8, invalidJSON, invalidNumber, notAnEvent
        case unknownType, noPlace, noAudience, missingStatus, missingOrderID, badRequest, conflictingValue
        case payloadTooLarge, tooManyOrderIDs, tooManyAudiences, tooManyDevices, tooManyBytes, recordRefused
        case unreadableBatch, transactionTimeout

        /// The value of the header `x-error-code`, and the label of its counter.
        public var label: String {
            switch self {
            case .nullValue: "null_value"
            case .valueTooLarge: "value_too_large"
            case .tooDeep: "too_deep"
            case .invalidUTF8: "invalid_utf8"
            case .invalidJSON: "invalid_json"
            case .invalidNumber: "invalid_number"
            case .notAnEvent: "not_an_event"
            case .unknownType: "unknown_type"
            case .noPlace: "no_place"
            case .noAudience: "no_audience"
            case .missingStatus: "missing_status"
            case .missingOrderID: "missing_order_id"
            case .badRequest: "bad_request"
            case .conflictingValue: "conflicting_value"
            case .payloadTooLarge: "payload_too_large"
            case .tooManyOrderIDs: "too_many_order_ids"
            case .tooManyAudiences: "too_many_audiences"
            case .tooManyDevices: "too_many_devices"
            case .tooManyBytes: "too_many_bytes"
            case .recordRefused: "record_refused"
            case .unreadableBatch: "unreadable_batch"
            case .transactionTimeout: "transaction_timeout"
            }
        }

        /// Nil for a label that this version does not write.
        package init?(label: String) {
            guard let code = Self.allCases.first(where: { $0.label == label }) else { return nil }
            self = code
        }
    }
}
