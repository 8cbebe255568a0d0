extension DeadLetter.Code {
    /// Kafka Connect's name for the stage that failed.
    package var stage: String {
        switch self {
        case .nullValue, .valueTooLarge, .tooDeep, .invalidUTF8, .invalidJSON, .invalidNumber, .notAnEvent,
            .unreadableBatch:
            "VALUE_CONVERTER"
        case .unknownType, .noPlace, .noAudience, .missingStatus, .missingOrderID, .badRequest, .conflictingValue,
            .payloadTooLarge, .tooManyOrderIDs, .tooManyAudiences, .tooManyDevices, .tooManyBytes:
            "TRANSFORMATION"
        case .recordRefused, .transactionTimeout:
            "TASK_PUT"
        }
    }
}
