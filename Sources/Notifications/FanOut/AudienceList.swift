import NotificationPayload

/// The audiences of a range of notifications, in the order of the notifications.
///
/// Equal audiences are one entry, which is resolved once per batch. The memory is reused from batch to batch.
public struct AudienceList: ~Copyable {
    /// Links a notification to an audience; several in a row are a union.
    struct Link {
        var notification: Int
        var audience: Int
    }

    private var text = ByteWriter(capacity: 4_096)
    /// Where each audience ends in `text`.
    private var ends: [Int] = []
    private(set) var links: [Link] = []
    /// Costs about 60 ns per notification, and saves a lookup of at least 2 µs for each one that repeats an audience.
    private var index = AudienceIndex()

    /// The number of audiences to resolve.
    public var count: Int { ends.count }

    /// A copy of the audience at `index`, for example `place/42`.
    public subscript(index: Int) -> String {
        String(decoding: bytes(index), as: UTF8.self)
    }

    /// Adds an audience, `place/<id>`, `user/<id>` or `channel/<id>`, of the notification at this index of the batch.
    ///
    /// Notifications come in ascending order; one may have several audiences, and then each device gets it once.
    public mutating func append(_ audience: String, for notification: Int) {
        var audience = audience
        let start = text.count
        audience.withUTF8 { text.append(UnsafeRawBufferPointer($0)) }
        close(from: start, for: notification)
    }

    /// Adds an audience as bytes, without a string.
    package mutating func append(
        _ prefix: StaticString, _ bytes: UnsafeRawBufferPointer, for notification: Int
    ) {
        let start = text.count
        text.append(prefix)
        text.append(bytes)
        close(from: start, for: notification)
    }

    /// The audience's bytes, valid until the list changes.
    package func bytes(_ index: Int) -> UnsafeRawBufferPointer {
        Self.slice(text.bytes, from: index == 0 ? 0 : ends[index - 1], to: ends[index])
    }

    mutating func removeAll() {
        text.removeAll()
        ends.removeAll(keepingCapacity: true)
        links.removeAll(keepingCapacity: true)
        index.removeAll()
    }

    /// Sorts the links by notification; throws if the rule named a notification outside the requested range.
    mutating func checkLinks(within notifications: Range<Int>) throws(AudienceRuleError) {
        var isInOrder = true
        for (index, link) in links.enumerated() {
            guard notifications.contains(link.notification) else {
                throw AudienceRuleError(
                    description: "the audience rule named notification \(link.notification), but was called for"
                        + " \(notifications.lowerBound) to \(notifications.upperBound - 1)")
            }
            isInOrder = isInOrder && (index == 0 || links[index - 1].notification <= link.notification)
        }
        if !isInOrder {
            links = links.enumerated()
                .sorted { ($0.element.notification, $0.offset) < ($1.element.notification, $1.offset) }
                .map(\.element)
        }
    }

    /// Ends the audience whose text starts at `start`; removes the text again if the list has it already.
    private mutating func close(from start: Int, for notification: Int) {
        let added = Self.slice(text.bytes, from: start, to: text.count)
        let hash = index.hash(added)
        var slot = index.start(of: hash)
        while let audience = index.audience(from: &slot, of: hash) {
            guard sameBytes(bytes(audience), added) else { continue }
            text.truncate(to: start)
            links.append(Link(notification: notification, audience: audience))
            return
        }
        index.add(ends.count, of: hash, at: slot)
        links.append(Link(notification: notification, audience: ends.count))
        ends.append(text.count)
    }

    private static func slice(
        _ bytes: UnsafeRawBufferPointer, from start: Int, to end: Int
    ) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    }
}
