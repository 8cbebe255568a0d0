import JSONReader
import Notifications
import Pipeline

/// What differs between providers for the sender. Each has a folder beside this file, and a case below.
protocol Provider {
    /// The messages a minute of a credential, all processes together; nil is no limit.
    static func perMinute(_ delivery: SenderConfiguration) -> Int?
    /// A credential has a client for each; nil where the provider has only one environment.
    static func environments(of credential: ProviderCredential) -> [PushEnvironment?]
    /// Whether a connection takes one request until that one is answered.
    static var firstAnswerOpens: Bool { get }
    /// What the URL of every request of a client begins with.
    static func endpoint(
        of credential: LoadedCredential, _ environment: PushEnvironment?, _ delivery: SenderConfiguration
    ) -> String
    /// The request for a record, sent now: before its end.
    static func request(
        of record: LaneRecord, to endpoint: String, _ token: BearerToken, now: WallTime, _ json: inout JSONReader
    ) throws(MessageProblem) -> ProviderRequest
    /// The headers of an answer that ``verdict(of:_:after:)`` looks at.
    static var answerHeaders: [String] { get }
    /// What an answer means.
    ///
    /// - Parameters:
    ///   - body: nil where it is no JSON.
    ///   - after: how long `retry-after` asks to wait, in milliseconds.
    static func verdict(of answer: ProviderAnswer, _ body: JSONValue?, after: Int64?) -> Verdict
    /// Whether an answer about a token is about its app and environment too, and not about the token alone.
    static var answersForApp: Bool { get }
    /// A record's value that the provider checks, and that reaches nobody.
    ///
    /// - Parameter device: 64 hex digits.
    static func trial(of credential: ProviderCredential, _ environment: PushEnvironment?, device: String) -> String
}

extension Platform {
    var provider: any Provider.Type {
        switch self {
        case .fcm: FCM.self
        case .apns: APNs.self
        }
    }
}
