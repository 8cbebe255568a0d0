extension DeadLetter.Code {
    /// Whether the event alone shows if the present rules would take it. The others depend on the subscriptions, the topic
    /// or its broker: a person decides when to put those back.
    package var canBeTriedAlone: Bool {
        switch self {
        case .nullValue, .valueTooLarge, .tooDeep, .invalidUTF8, .invalidJSON, .invalidNumber, .notAnEvent,
            .unknownType, .noPlace, .missingStatus, .missingOrderID, .tooManyOrderIDs:
            true
        case .payloadTooLarge, .tooManyDevices, .recordRefused:
            false
        }
    }
}
