import NotificationPayload

extension DispatchRecord {
    /// The keys of the deep link, as the app finds them in the push; nil if it finds none. Not for the hot path.
    package var deepLinkKeys: DeepLinkKeys? {
        guard let message = PushValue(json: value) else { return nil }
        let push =
            if let data = message["message"]?["data"]?.object {
                ReceivedPush(data: data.compactMapValues(\.string))
            } else {
                ReceivedPush(payload: message["payload"]?.object ?? [:])
            }
        return ReceivedNotification(push).deepLinkKeys
    }
}
