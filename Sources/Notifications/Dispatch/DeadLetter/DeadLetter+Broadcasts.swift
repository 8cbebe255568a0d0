extension DeadLetter {
    /// - Parameter found: the record's key; nil if it has none.
    package static func keyOfBroadcast(_ found: UnsafeRawBufferPointer?, id: UnsafeRawBufferPointer) -> DeadLetter {
        let key = found.map { quote($0) } ?? "missing"
        return DeadLetter(.badRequest, "the key is \(key); allowed is the notificationid, \(quote(id))")
    }

    package static let cancelledNothing = DeadLetter(
        .badRequest, "the record has neither a key nor a value; allowed is the notificationid of what is cancelled")

    package static func languageCount(_ count: Int) -> DeadLetter {
        DeadLetter(.badRequest, "fields has \(count) entries; allowed are 1 to 100")
    }

    /// - Parameters:
    ///   - index: of the language that is there again.
    ///   - first: where it is for the first time.
    package static func repeatedLanguage(
        _ language: String, _ index: Int, first: Int
    ) -> DeadLetter {
        DeadLetter(
            .conflictingValue,
            "fields[\(index)].language is \"\(language)\", which fields[\(first)] has; allowed is each language once")
    }

    /// - Parameter milliseconds: between its publication and its expiry.
    package static func tooLongValidity(_ milliseconds: Int64) -> DeadLetter {
        DeadLetter(
            .badRequest,
            "expiry is \(milliseconds) ms after published_at; allowed are at most 2419200000, which is 28 days")
    }

    package static func unknownNonDisplayType(_ name: UnsafeRawBufferPointer) -> DeadLetter {
        DeadLetter(
            .unknownType,
            "\(quote(name)) is no notificationtype of a non-display broadcast; allowed are enable-feature and disable-feature"
        )
    }
}
