extension DeadLetter.Code {
    /// Whether the broker decided, and not the rules: a replay renders the event all the same.
    package var isOfBroker: Bool {
        switch self {
        case .recordRefused, .transactionTimeout: true
        case .nullValue, .valueTooLarge, .tooDeep, .invalidUTF8, .invalidJSON, .invalidNumber, .notAnEvent,
            .unknownType, .noPlace, .noAudience, .missingStatus, .missingOrderID, .badRequest, .conflictingValue,
            .payloadTooLarge, .tooManyOrderIDs, .tooManyAudiences, .tooManyDevices, .tooManyBytes, .unreadableBatch:
            false
        }
    }

    /// Whether the event alone shows if the present rules would accept it. The other codes depend on the subscriptions,
    /// the topic or its broker: a person decides when to put those records back.
    package var canBeTriedAlone: Bool {
        switch self {
        case .nullValue, .valueTooLarge, .tooDeep, .invalidUTF8, .invalidJSON, .invalidNumber, .notAnEvent,
            .unknownType, .noPlace, .noAudience, .missingStatus, .missingOrderID, .badRequest, .conflictingValue,
            .tooManyOrderIDs, .tooManyAudiences:
            true
        case .payloadTooLarge, .tooManyDevices, .tooManyBytes, .recordRefused, .unreadableBatch, .transactionTimeout:
            false
        }
    }
}
