import JSONReader
import Pipeline

/// Firebase Cloud Messaging, by its HTTP v1 API.
enum FCM: Provider {
    static func perMinute(_ delivery: SenderConfiguration) -> Int? { delivery.fcmPerMinute }

    static func environments(of credential: ProviderCredential) -> [PushEnvironment?] { [nil] }

    static let firstAnswerOpens = false
    static let answersForApp = false
    static let answerHeaders: [String] = []

    static func endpoint(
        of credential: LoadedCredential, _ environment: PushEnvironment?, _ delivery: SenderConfiguration
    ) -> String {
        switch credential {
        case .serviceAccount(let account): FCMRequest(projectID: account.projectID, host: delivery.fcmURL).url
        case .token(_, let projectID): FCMRequest(projectID: projectID, host: delivery.fcmURL).url
        // It is none of FCM's.
        case .providerKey: delivery.fcmURL
        }
    }

    static func request(
        of record: LaneRecord, to endpoint: String, _ token: BearerToken, now: WallTime, _ json: inout JSONReader
    ) throws(MessageProblem) -> ProviderRequest {
        try record.value.withUnsafeBufferPointer { value throws(MessageProblem) in
            try FCMRequest(url: endpoint).request(
                UnsafeRawBufferPointer(value), expiresAt: record.expiresAt, token: token, now: now)
        }
    }

    static func verdict(of answer: ProviderAnswer, _ body: JSONValue?, after: Int64?) -> Verdict {
        FCMAnswer(body).verdict(status: answer.status, after: after)
    }

    static func trial(of credential: ProviderCredential, _ environment: PushEnvironment?, device: String) -> String {
        #"{"validate_only":true,"message":{"token":"carillon-check","data":{"check":"1"}}}"#
    }
}
