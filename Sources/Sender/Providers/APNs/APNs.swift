import JSONReader
import Pipeline

/// Apple's push service.
enum APNs: Provider {
    /// It has no quota that it says.
    static func perMinute(_ delivery: SenderConfiguration) -> Int? { nil }

    static func environments(of credential: ProviderCredential) -> [PushEnvironment?] { credential.entry.environments }

    static let firstAnswerOpens = true
    static let answersForApp = true
    static let answerHeaders = ["apns-id"]

    static func endpoint(
        of credential: LoadedCredential, _ environment: PushEnvironment?, _ delivery: SenderConfiguration
    ) -> String {
        if let url = delivery.apnsURL { return url }
        let host = APNsRequest.host(environment ?? .production)
        return delivery.apnsPort == 443 ? host : "\(host):\(delivery.apnsPort)"
    }

    static func request(
        of record: LaneRecord, to endpoint: String, _ token: BearerToken, now: WallTime, _ json: inout JSONReader
    ) throws(MessageProblem) -> ProviderRequest {
        let request = try record.value.withUnsafeBufferPointer { value throws(MessageProblem) in
            try APNsRequest(UnsafeRawBufferPointer(value), &json)
        }
        return Array(record.messageID.utf8).withUnsafeBytes { id in
            Array(record.deviceHash.utf8).withUnsafeBytes { device in
                request.request(messageID: id, device: device, token: token, host: endpoint)
            }
        }
    }

    static func verdict(of answer: ProviderAnswer, _ body: JSONValue?, after: Int64?) -> Verdict {
        APNsAnswer(body).verdict(answer, after: after)
    }

    static func trial(of credential: ProviderCredential, _ environment: PushEnvironment?, device: String) -> String {
        #"{"device_token":"\#(device)","environment":"\#(environment?.rawValue ?? "")","headers":{"apns-topic":"#
            + #""\#(credential.apps.first ?? "carillon.check")","apns-push-type":"background","apns-priority":"5"},"#
            + #""payload":{"aps":{"content-available":1}}}"#
    }
}
