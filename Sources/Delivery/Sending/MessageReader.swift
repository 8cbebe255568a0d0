import JSONReader
import Time

/// Makes providers' requests of dispatch records. The parser's memory is reused; one owner.
struct MessageReader: ~Copyable {
    private var json = JSONReader()

    /// - Parameters:
    ///   - fcm: of the credential, for records of FCM.
    ///   - apnsURL: nil: Apple's host.
    mutating func request(
        _ record: LaneRecord, _ fcm: FCMRequest?, apnsURL: String?, _ token: BearerToken, now: WallTime
    ) throws(MessageProblem) -> ProviderRequest {
        switch record.platform {
        case .fcm:
            guard let fcm else { throw .noCredential }
            return try record.value.withUnsafeBufferPointer { value throws(MessageProblem) in
                try fcm.request(
                    UnsafeRawBufferPointer(value), expiresAt: record.expiresAt, token: token, now: now)
            }
        case .apns:
            let request = try record.value.withUnsafeBufferPointer { value throws(MessageProblem) in
                try APNsRequest(UnsafeRawBufferPointer(value), &json)
            }
            return Array(record.messageID.utf8).withUnsafeBytes { id in
                Array(record.deviceHash.utf8).withUnsafeBytes { device in
                    request.request(messageID: id, device: device, token: token, host: apnsURL)
                }
            }
        }
    }
}
