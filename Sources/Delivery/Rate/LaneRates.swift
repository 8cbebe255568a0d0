import Deliveries
import Pipeline

extension DeliveryConfiguration {
    /// The messages a minute of each credential in a lane, all its processes together; nil is no limit. Lanes that send with
    /// the same credential have equal parts, since each knows only what it sends itself.
    func rates(_ credentials: CredentialMap) -> [Int?] {
        let users = lanes.credentials(of: credentials)
        return self.credentials.enumerated().map { index, credential in
            switch credential.platform {
            case .fcm: fcmPerMinute / max(1, users.values.count { $0.contains(index) })
            // APNs has no quota that it says.
            case .apns: nil
            }
        }
    }
}
