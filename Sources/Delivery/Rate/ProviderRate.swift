import Deliveries
import Pipeline

extension Platform {
    /// The messages a minute of a credential, all processes together; nil is no limit.
    func perMinute(_ delivery: DeliveryConfiguration) -> Int? {
        switch self {
        case .fcm: delivery.fcmPerMinute
        // APNs has no quota that it says.
        case .apns: nil
        }
    }
}
