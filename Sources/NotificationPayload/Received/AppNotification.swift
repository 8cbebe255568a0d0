/// An app notification: a text for the user, and a type by which the app knows what to do (document 2, "Structure").
public struct AppNotification: Hashable, Sendable {
    /// As it was sent; see ``AppNotificationType`` for those that document 2 lists.
    public var type: String
    /// All data with ``type`` in it, without `message_id` and the image. All values are strings; see ``flag(_:)``.
    public var data: [String: String]
    /// Nil where the system keeps it from the app, as for a data message.
    public var title: String?
    public var body: String?
    /// The image that FCM shows; otherwise `imageUrl` of the data, where a push by APNs has it (docs/rules.md §9).
    public var imageURL: String?
    /// The same for all devices of a notification.
    public var messageID: String?

    public init(
        type: String, data: [String: String], title: String? = nil, body: String? = nil, imageURL: String? = nil,
        messageID: String? = nil
    ) {
        self.type = type
        self.data = data
        self.title = title
        self.body = body
        self.imageURL = imageURL
        self.messageID = messageID
    }

    /// Reads document 2's `True` and `False`, ignoring case.
    ///
    /// - Returns: nil if there is no such key, or if its value is neither.
    public func flag(_ name: String) -> Bool? {
        switch data[name]?.lowercased() {
        case "true": true
        case "false": false
        case _?, nil: nil
        }
    }

    init(type: String, _ push: ReceivedPush) {
        self.init(
            type: type, data: push.data.compactMapValues(Self.text), title: push.alert.title, body: push.alert.body,
            imageURL: push.alert.imageURL, messageID: push.messageID)
        data["message_id"] = nil
        if imageURL == nil, let own = push.data["imageUrl"]?.string {
            imageURL = own
            data["imageUrl"] = nil
        }
    }

    /// A boolean is spelled as document 2 spells it.
    private static func text(_ value: PushValue) -> String? {
        switch value {
        case .bool(true): "True"
        case .bool(false): "False"
        case .null, .number, .string, .array, .object: value.text
        }
    }
}
