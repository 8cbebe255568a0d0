import HTTPServer

/// The kinds of problems. A code is stable; where a dead letter has the same reason, it has the same code.
package enum ProblemCode: String, CaseIterable, Sendable {
    case notJSON = "not-json"
    case duplicateMember = "duplicate-member"
    case badEncoding = "bad-encoding"
    case badPath = "bad-path"
    case badHeader = "bad-header"
    case noCredential = "no-credential"
    case unknownKey = "unknown-key"
    case expiredToken = "expired-token"
    case badToken = "bad-token"
    case badCredential = "bad-credential"
    case scope
    case audienceNotAllowed = "audience-not-allowed"
    case appNotAllowed = "app-not-allowed"
    case notFound = "not-found"
    case methodNotAllowed = "method-not-allowed"
    case notAcceptable = "not-acceptable"
    case otherContent = "other-content"
    case keyReused = "idempotency-key-reused"
    case live
    case revision
    case staleGeneration = "stale-generation"
    case personErased = "person-erased"
    case tooManyDevices = "too-many-devices"
    case incomplete
    case tooLarge = "too-large"
    case uriTooLong = "uri-too-long"
    case mediaType = "media-type"
    case badRequest = "bad_request"
    case conflictingValue = "conflicting_value"
    case unknownType = "unknown_type"
    case payloadTooLarge = "payload_too_large"
    case quotaExceeded = "quota-exceeded"
    case headersTooLarge = "headers-too-large"
    case defect
    case notRecorded = "not-recorded"
    case outcomeUnknown = "outcome-unknown"
    case notYet = "not-yet"
    case starting
    case overloaded
    case draining

    package var status: HTTPResponse.Status {
        switch self {
        case .notJSON, .duplicateMember, .badEncoding, .badPath, .badHeader: .badRequest
        case .noCredential, .unknownKey, .expiredToken, .badToken, .badCredential: .unauthorized
        case .scope, .audienceNotAllowed, .appNotAllowed: .forbidden
        case .notFound: .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .notAcceptable: .notAcceptable
        case .otherContent, .live, .tooManyDevices, .incomplete, .staleGeneration: .conflict
        case .revision: .preconditionFailed
        case .personErased: .gone
        case .tooLarge: .contentTooLarge
        case .uriTooLong: .uriTooLong
        case .mediaType: .unsupportedMediaType
        case .badRequest, .conflictingValue, .unknownType, .payloadTooLarge, .keyReused: .unprocessableContent
        case .quotaExceeded: .tooManyRequests
        case .headersTooLarge: .headersTooLarge
        case .defect: .internalServerError
        case .notRecorded, .outcomeUnknown, .notYet, .starting, .overloaded, .draining: .serviceUnavailable
        }
    }

    /// The same for every problem of the kind.
    package var title: String {
        switch self {
        case .notJSON: "The body is not JSON"
        case .duplicateMember: "A member of the body is there twice"
        case .badEncoding: "The body is not UTF-8"
        case .badPath: "The path or the query cannot be read"
        case .badHeader: "A header cannot be read"
        case .noCredential: "A key is needed"
        case .unknownKey: "The key is not known"
        case .expiredToken: "The key or the token has expired"
        case .badToken: "The user's token is not accepted"
        case .badCredential: "The credential is none of a device"
        case .scope: "The key or the credential may not do this"
        case .audienceNotAllowed: "The key may not reach an audience"
        case .appNotAllowed: "The key may not reach an app"
        case .notFound: "There is no such resource"
        case .methodNotAllowed: "The resource does not have this method"
        case .notAcceptable: "The answer has no type that the client accepts"
        case .otherContent: "The id is used for something else"
        case .keyReused: "The Idempotency-Key is used for something else"
        case .live: "Another broadcast with the id is live"
        case .revision: "The resource has another version"
        case .staleGeneration: "A newer change of the device came before"
        case .personErased: "The person was erased"
        case .tooManyDevices: "The channel has too many devices"
        case .incomplete: "The topics do not give the answer"
        case .tooLarge: "The body is too large"
        case .uriTooLong: "The path and query are too long"
        case .mediaType: "The body is of another type"
        case .badRequest: "The request cannot be used"
        case .conflictingValue: "Two values contradict each other"
        case .unknownType: "The type is not known"
        case .payloadTooLarge: "The push is too large for its providers"
        case .quotaExceeded: "Too many requests"
        case .headersTooLarge: "The headers are too large"
        case .defect: "The server has a defect"
        case .notRecorded: "Nothing was recorded"
        case .outcomeUnknown: "It is not known whether it was recorded"
        case .notYet: "The server does not know it yet"
        case .starting: "The server has not read what it needs"
        case .overloaded: "The server has too much to do"
        case .draining: "The server is about to end"
        }
    }

    /// What the client does next.
    package var advice: String {
        switch self {
        case .notJSON, .duplicateMember, .badEncoding, .badPath, .badHeader, .notFound, .methodNotAllowed,
            .notAcceptable, .tooLarge, .uriTooLong, .mediaType, .badRequest, .conflictingValue, .unknownType,
            .payloadTooLarge, .headersTooLarge:
            "Repeating the same request does not help: correct it as its detail says."
        case .noCredential, .unknownKey, .expiredToken:
            "Send the header Authorization: Bearer, with a key that carillon api key create made."
        case .scope, .audienceNotAllowed, .appNotAllowed:
            "Use a key that may; carillon api key list shows what each may."
        case .live, .revision:
            "Look at what is there with GET, then say with If-Match that it is to be replaced, or take another id."
        case .staleGeneration: "Nothing is to be done: the newer change holds."
        case .badCredential:
            "Send Authorization: Device, with the id of the device, a colon and its secret; a PUT makes a new one."
        case .badToken: "Have the shop's backend sign another token, as its detail says."
        case .personErased: "Forget the session. Who comes back logs in again, and has a new token."
        case .tooManyDevices: "Send it with a larger max_devices, or to a smaller channel."
        case .incomplete: "Ask for less, such as a shorter time, or use the command that says the same."
        case .otherContent, .keyReused: "Use another id. What was recorded under this one stays."
        case .quotaExceeded, .notYet, .starting, .overloaded, .draining:
            "Repeat the request after the time in Retry-After."
        case .defect: "Repeat the request once; report it with the id in the member request."
        case .notRecorded: "Nothing was written. Repeat the request after the time in Retry-After."
        case .outcomeUnknown: "It may have been written. Repeat the same request: it is not done twice."
        }
    }
}
