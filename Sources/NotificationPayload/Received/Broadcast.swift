/// A broadcast to everybody who follows a channel (document 4).
///
/// ``content`` says what it means, ``expiresAt`` until when. In either form of the push, data only or with a
/// notification, the data is the same but for the languages: data only has all of them, otherwise it has the one that is
/// shown.
public struct Broadcast: Hashable, Sendable {
    /// `display` or `non-display`, as it was sent.
    public var actionType: String
    /// The same each time that the broadcast is sent, also after a correction.
    public var notificationID: String
    /// All data as strings, `actiontype` and `notificationid` among them, without `message_id`. `fields`, the texts by
    /// language, is JSON in a string.
    public var data: [String: String]
    /// Another one after a correction, so that it is shown again.
    public var messageID: String?
    /// What the system shows of it, in the language of the device; nil if the push is data only. The app then shows
    /// ``Display/text(for:)``.
    public var title: String?
    public var body: String?

    public init(
        actionType: String, notificationID: String, data: [String: String], messageID: String? = nil,
        title: String? = nil, body: String? = nil
    ) {
        self.actionType = actionType
        self.notificationID = notificationID
        self.data = data
        self.messageID = messageID
        self.title = title
        self.body = body
    }

    init(actionType: String, notificationID: String, _ push: ReceivedPush) {
        self.init(
            actionType: actionType, notificationID: notificationID, data: push.data.compactMapValues(\.text),
            messageID: push.messageID, title: push.alert.title, body: push.alert.body)
        data["message_id"] = nil
    }
}
