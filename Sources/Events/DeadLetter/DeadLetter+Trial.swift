extension DeadLetter.Code {
    /// Whether the event alone shows if the present rules would accept it. The other codes depend on the subscriptions,
    /// the topic or its broker: a person decides when to put those records back.
    package var canBeTriedAlone: Bool {
        switch self {
        case .nullValue, .valueTooLarge, .tooDeep, .invalidUTF8, .invalidJSON, .invalidNumber, .notAnEvent,
            .unknownType, .noPlace, .missingStatus, .missingOrderID, .badRequest, .conflictingValue, .tooManyOrderIDs:
            true
        case .payloadTooLarge, .tooManyDevices, .recordRefused, .unreadableBatch:
            false
        }
    }
}
