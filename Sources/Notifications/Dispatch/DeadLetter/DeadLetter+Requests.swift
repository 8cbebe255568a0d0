import JSONReader

/// What a member of a request or a broadcast may be (docs/rules.md §8.7, §14.4).
package enum RequestValue {
    case string, requiredString, text, time, priority, object, imageURL, badge, strings, flag, audience
    case actionType, displayType, nonDisplayType, expiry, cancellation, poster, fields, language, channel, channelID

    var allowed: StaticString {
        switch self {
        case .string: "a string"
        case .requiredString: "a string that is not blank"
        case .text: "a string or a number"
        case .time: "an ISO 8601 time, or seconds or milliseconds since 1970"
        case .priority: "high or normal"
        case .object: "an object"
        case .imageURL: "a URL that begins with https:// or http://"
        case .badge: "an integer from 0 to 2147483647"
        case .strings: "a list of strings"
        case .flag: "true or false"
        case .audience:
            "place/<id>, user/<id>, channel/<id> or device/<SHA-256 of the token> in at most 1,024 bytes"
        case .actionType: "display or non-display"
        case .displayType: "general, festive, downtime or others"
        case .nonDisplayType: "enable-feature or disable-feature"
        case .expiry: "a lifetime such as 34646millis, an ISO 8601 time, or milliseconds since 1970 from 10^11 on"
        case .cancellation: "cancellable or non-cancellable"
        case .poster: "a URL that begins with https://, without spaces"
        case .fields: "a list of objects with language, title and msg"
        case .language: "a language tag of at most 35 ASCII letters, digits, - and _"
        case .channel: "one channel/<id> in at most 1,024 bytes"
        case .channelID: "the id of a channel, in at most 1,016 bytes without control characters"
        }
    }

    /// Whether a value that is not allowed is shown itself: it has the right kind.
    fileprivate func shows(_ value: JSONValue) -> Bool {
        switch self {
        case .string, .requiredString, .text, .object, .strings, .flag, .displayType, .nonDisplayType, .fields: false
        case .time, .expiry: value.isString || value.isNumber
        case .priority, .imageURL, .audience, .actionType, .cancellation, .poster, .language, .channel, .channelID:
            value.isString
        case .badge: value.integer != nil || value.unsigned != nil
        }
    }
}

extension DeadLetter {
    /// - Parameters:
    ///   - member: with its path, such as `app.title`.
    ///   - value: what was found there.
    package static func badRequest(_ member: String, _ value: JSONValue?, _ expected: RequestValue) -> DeadLetter {
        DeadLetter(.badRequest, "\(member) is \(found(value, expected)); allowed is \(expected.allowed)")
    }

    package static func audienceCount(_ count: Int) -> DeadLetter {
        DeadLetter(.badRequest, "audience has \(count) entries; allowed are 1 to 1,000")
    }

    package static func audienceNotPermitted(
        _ member: String, _ name: UnsafeRawBufferPointer, permitted: [String]
    ) -> DeadLetter {
        let names = permitted.joined(separator: ", ")
        return DeadLetter(.badRequest, "\(member) is \(quote(name)); requests.audiences allows \(names)")
    }

    package static func unknownMember(
        _ name: UnsafeRawBufferPointer, of holder: String, allowed: [String]
    ) -> DeadLetter {
        let names = allowed.joined(separator: ", ")
        return DeadLetter(.badRequest, "\(quote(name)) is not a member of \(holder); allowed are \(names)")
    }

    package static func argumentsAlone(_ arguments: String, without key: String) -> DeadLetter {
        DeadLetter(.badRequest, "message.\(arguments) is there without \(key); allowed are both or neither")
    }

    package static let noContent = DeadLetter(
        .badRequest, "the request has neither app nor message; allowed is exactly one of them")

    package static let twoContents = DeadLetter(
        .badRequest, "the request has app and message; allowed is exactly one of them")

    /// - Parameter owner: such as `FCM`.
    package static func reservedKey(
        _ key: UnsafeRawBufferPointer, in holder: StaticString, for owner: StaticString
    ) -> DeadLetter {
        DeadLetter(.badRequest, "\(quote(key)) in \(holder) is reserved for \(owner)")
    }

    package static func emptyKey(in holder: StaticString) -> DeadLetter {
        DeadLetter(.badRequest, "\(holder) has an empty key")
    }

    package static let nothingToShow = DeadLetter(
        .badRequest, "message has neither a title nor a body; allowed is that only if silent is true")

    package static func bothThere(_ one: StaticString, _ other: StaticString) -> DeadLetter {
        DeadLetter(.conflictingValue, "\(one) and \(other) are both there; allowed is one of them")
    }

    /// A key of `app.data` has another value than its type fixes.
    package static func fixedPair(
        _ key: UnsafeRawBufferPointer, found: UnsafeRawBufferPointer, type: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer
    ) -> DeadLetter {
        let key = String(quote(key).dropFirst().dropLast())
        let type = String(quote(type).dropFirst().dropLast())
        return DeadLetter(
            .conflictingValue, "app.data.\(key) is \(quote(found)); the type \(type) has \(quote(value))")
    }

    package static let silentLink = DeadLetter(
        .conflictingValue,
        "message is silent, but its order_type and order_id are a deep link, which needs an alert to tap")

    package static func unknownAppType(_ name: UnsafeRawBufferPointer) -> DeadLetter {
        DeadLetter(.unknownType, "\(quote(name)) is no type of app notification, such as NewBill")
    }

    private static func found(_ value: JSONValue?, _ expected: RequestValue) -> String {
        guard let value, !value.isNull else { return "missing" }
        if let text = value.string {
            if text.bytes.trimmed.isEmpty { return "blank" }
            return expected.shows(value) ? quote(text.bytes) : "a string"
        }
        if value.isNumber { return expected.shows(value) ? numberText(value) : "a number" }
        if value.boolean != nil { return "a boolean" }
        return value.isArray ? "a list" : "an object"
    }

    private static func numberText(_ value: JSONValue) -> String {
        String(unsafeUninitializedCapacity: JSONNumberText.maxCount) { buffer in
            buffer.baseAddress.flatMap { JSONNumberText.write(value, to: $0) } ?? 0
        }
    }
}
