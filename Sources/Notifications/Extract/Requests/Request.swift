import JSONReader

/// A request that has been read and found to be right. Its texts belong to its document.
struct Request {
    let record: Int
    /// The record's header, where it may go on.
    let traceparent: UnsafeRawBufferPointer?
    let kind: RequestNotification.Content
    /// Its own, or that of its envelope.
    let id: UnsafeRawBufferPointer?
    let messageID: UnsafeRawBufferPointer
    /// Nil where it has no id of its own, and so cannot be known.
    let sighting: RequestSighting?
    let eventTime: WallTime
    let expiresAt: WallTime
    let fcmExpiresAt: WallTime
    /// As the request has it.
    let collapseKey: UnsafeRawBufferPointer?
    let priority: RequestNotification.Priority
    let content: RequestContent
}

/// What document 2's or document 5's object says, except for its data or extras.
struct RequestContent {
    var title: UnsafeRawBufferPointer?
    var body: UnsafeRawBufferPointer?
    var image: UnsafeRawBufferPointer?
    var titleKey: UnsafeRawBufferPointer?
    /// Lists of strings that are not empty.
    var titleArguments: JSONValue?
    var bodyKey: UnsafeRawBufferPointer?
    var bodyArguments: JSONValue?
    var badge: Int32?
    var sound: UnsafeRawBufferPointer?
    var icon: UnsafeRawBufferPointer?
    var category: UnsafeRawBufferPointer?
    var collapseKey: UnsafeRawBufferPointer?
    var validUntil: WallTime?
    var isSilent = false
}
