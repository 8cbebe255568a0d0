import NotificationPayload

/// What a provider makes of a dispatch record: a push on one device.
///
/// A real app has no such code: FCM or APNs hands it the push.
struct Delivery {
    /// The record's key: the SHA-256 of the device's token.
    var device: String
    var push: ReceivedPush

    /// - Parameter line: a record as `carillon render` and `kcat -J` print it.
    /// - Returns: nil for anything but a dispatch record, such as a dead letter.
    init?(line: String) {
        guard let record = PushValue(json: line), let device = record["key"]?.string,
            let message = record["payload"]?.string.flatMap({ PushValue(json: $0) }),
            let headers = record["headers"]?.array, let name = headers.firstIndex(of: .string("platform")),
            name + 1 < headers.count
        else { return nil }
        self.device = device
        switch headers[name + 1] {
        case .string("fcm"): push = Self.fcm(message["message"])
        case .string("apns"): push = ReceivedPush(payload: message["payload"]?.object ?? [:])
        default: return nil
        }
    }

    /// The remote message that Android's SDK makes of the body of an HTTP v1 request.
    private static func fcm(_ message: PushValue?) -> ReceivedPush {
        let (shown, android) = (message?["notification"], message?["android"])
        return ReceivedPush(
            data: message?["data"]?.object?.compactMapValues(\.string) ?? [:],
            alert: PushAlert(
                title: shown?["title"]?.string, body: shown?["body"]?.string, imageURL: shown?["image"]?.string,
                sound: android?["notification"]?["sound"]?.string, icon: android?["notification"]?["icon"]?.string,
                category: android?["notification"]?["tag"]?.string, collapseKey: android?["collapse_key"]?.string))
    }
}
