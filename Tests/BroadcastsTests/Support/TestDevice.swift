import Digests
import Notifications

/// A device: a number is a token.
struct TestDevice: Hashable {
    let number: Int
    let token: String
    /// 64 hex digits: the key of its pushes.
    let hash: String

    init(_ number: Int) {
        self.number = number
        token = "device-\(number)"
        hash = SubscriptionKey.tokenHash(of: token)
    }

    /// Devices in the order in which a pass goes over them.
    static func inOrder(_ count: Int) -> [TestDevice] {
        (0..<count).map(TestDevice.init).sorted { $0.hash < $1.hash }
    }

    /// 32 bytes.
    var hashBytes: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 32)
        let digits = Array(hash.utf8)
        bytes.withUnsafeMutableBytes { target in
            digits.withUnsafeBytes { digits in
                if let start = target.baseAddress { _ = Hex.read(digits, to: start) }
            }
        }
        return bytes
    }

    func key(in audience: String) -> [UInt8] { Array("\(audience)|\(hash)".utf8) }

    /// The value of its subscription.
    func value(in audience: String, seen: WallTime?) -> [UInt8] {
        Subscription(
            audience: audience, token: token, platform: .fcm, app: "com.example.shop", lastSeenAt: seen
        ).encoded()
    }
}
