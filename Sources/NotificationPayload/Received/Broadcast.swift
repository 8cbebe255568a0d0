/// A broadcast to everybody who follows a topic (document 4).
public struct Broadcast: Hashable, Sendable {
    /// `display` or `non-display`, as it was sent.
    public var actionType: String
    /// The same each time that the broadcast is sent, so that who has seen it can drop it.
    public var notificationID: String
    /// All data as strings, `actiontype` and `notificationid` among them, without `message_id`. `fields`, the texts by
    /// language, is JSON in a string.
    public var data: [String: String]
    public var messageID: String?

    public init(actionType: String, notificationID: String, data: [String: String], messageID: String? = nil) {
        self.actionType = actionType
        self.notificationID = notificationID
        self.data = data
        self.messageID = messageID
    }

    init(actionType: String, notificationID: String, _ push: ReceivedPush) {
        self.init(
            actionType: actionType, notificationID: notificationID, data: push.data.compactMapValues(\.text),
            messageID: push.messageID)
        data["message_id"] = nil
    }
}
