import Digests
import NotificationPayload

/// Writes the dispatch records of notifications (docs/rules.md §7): once per notification what its devices share, then
/// each device's own part.
///
/// One per worker, used only by its thread. The bytes of ``DispatchRecord/headers`` also point into the batch, which
/// must outlive them. Allocates only for a notification that is larger than every earlier one.
package struct MessageRenderer: ~Copyable {
    /// In milliseconds.
    private let timeToLive: Int64
    private var fcm: FCMMessage
    private var apns: APNsMessage
    /// The two keys of an order's deep link, as members of a JSON object; empty if there is no deep link.
    private var deepLink = ByteWriter(capacity: 256)
    /// The expiry in milliseconds, as digits.
    private var expiry = ByteWriter(capacity: 32)
    private var notices: OrderNotices
    /// Which devices of the prepared notification get a title and a body.
    private var reach = OrderNotices.Reach.nobody
    /// The bytes that count against each provider's limit, without a title and a body.
    private var sizes = (fcm: 0, apns: 0)
    private static let keySize = 64
    private let key = UnsafeMutableRawPointer.allocate(byteCount: keySize, alignment: 8)
    private var headers: MessageHeaders
    /// Made once: a list per notification would be allocated.
    private static let platforms = Platform.allCases

    package init(settings: RenderSettings) {
        timeToLive = settings.timeToLiveSeconds * 1_000
        fcm = FCMMessage(settings)
        apns = APNsMessage(settings)
        headers = MessageHeaders(settings.optionalHeaders)
        notices = OrderNotices(settings.display)
    }

    deinit {
        key.deallocate()
    }

    /// Prepares a notification for devices of these platforms.
    ///
    /// Returns why it cannot be sent to them (over 4,096 bytes: docs/rules.md §1.3, §2.3, §7); do not render it then.
    package mutating func begin(
        _ notification: Notification, in batch: borrowing EventBatch, platforms: PlatformSet = .all
    ) -> DeadLetter? {
        switch notification.kind {
        case .order(let order): begin(notification, order, batch, platforms)
        case .request(let content, let index):
            begin(notification, content, batch.requests[index], batch, platforms)
        }
    }

    /// Whether the prepared notification has a title and a body for some of its devices; then ``prepare(_:)`` checks
    /// each of them.
    package var isShown: Bool {
        switch reach {
        case .nobody: false
        case .some, .everybody: true
        }
    }

    /// Returns why the prepared notification cannot be sent to this device with its title and body (docs/rules.md §7.1).
    package mutating func prepare(_ device: Device, audience: UnsafeRawBufferPointer) -> DeadLetter? {
        guard isShown, let notice = notices.notice(for: device.locale, audience: audience) else { return nil }
        return switch device.platform {
        case .fcm: FCMMessage.problem(ofSize: sizes.fcm + FCMMessage.size(of: notice), FCMMessage.measuredShown)
        case .apns: APNsMessage.problem(ofSize: sizes.apns + APNsMessage.size(of: notice), APNsMessage.measuredShown)
        }
    }

    /// The bytes of the record that ``render(_:audience:)`` would give, key and headers included, without the few that
    /// frame and escape a token and an app: at most 200 less. Writes nothing.
    package mutating func size(of device: Device, audience: UnsafeRawBufferPointer) -> Int {
        let notice = isShown ? notices.notice(for: device.locale, audience: audience) : nil
        let shared =
            switch device.platform {
            case .fcm: notice.map { fcm.shownSize + $0.count } ?? fcm.silentSize
            case .apns: notice.map { apns.shownSize + $0.count } ?? apns.silentSize
            }
        return shared + device.token.count + device.app.count + Self.keySize
            + headers.size(for: device, audience: audience)
    }

    /// The record for one device of a prepared platform; valid until the next call of the renderer. `audience` decides
    /// what is shown, and is a header.
    package mutating func render(_ device: Device, audience: UnsafeRawBufferPointer) -> DispatchRecord {
        let value =
            if isShown, let notice = notices.notice(for: device.locale, audience: audience) {
                switch device.platform {
                case .fcm: fcm.render(device, notice: notices.bytes(of: notice))
                case .apns: apns.render(device, notice: notices.bytes(of: notice))
                }
            } else {
                switch device.platform {
                case .fcm: fcm.render(device)
                case .apns: apns.render(device)
                }
            }
        Hex.write(device.hashStart, to: key)
        return DispatchRecord(
            key: UnsafeRawBufferPointer(start: key, count: Self.keySize), value: value,
            headers: headers.list(for: device, audience: audience))
    }

    private mutating func begin(
        _ notification: Notification, _ order: Notification.Order, _ batch: borrowing EventBatch,
        _ platforms: PlatformSet
    ) -> DeadLetter? {
        writeDeepLink(of: order, batch)
        if let problem = problem(notification, order, platforms) { return problem }
        expiry.removeAll()
        expiry.append(decimal: (notification.eventTime + timeToLive).milliseconds)
        let (deepLink, milliseconds) = (deepLink.bytes, expiry.bytes)
        let seconds = Self.seconds(ofMilliseconds: milliseconds)
        reach = notices.begin(order.eventType, payload: batch.bytes(notification.payload))
        let isSilentToSome =
            switch reach {
            case .nobody, .some: true
            case .everybody: false
            }
        for platform in Self.platforms where platforms.contains(PlatformSet(platform)) {
            switch platform {
            case .fcm:
                if isSilentToSome { fcm.begin(notification, batch, deepLink: deepLink, expiresAt: seconds) }
                if isShown { fcm.beginShown(notification, batch, deepLink: deepLink, expiresAt: seconds) }
            case .apns:
                if isSilentToSome { apns.begin(notification, batch, deepLink: deepLink, expiresAt: seconds) }
                if isShown { apns.beginShown(notification, batch, deepLink: deepLink, expiresAt: seconds) }
            }
        }
        headers.begin(notification, order, batch, milliseconds)
        return nil
    }

    private mutating func begin(
        _ notification: Notification, _ content: RequestNotification.Content, _ request: RequestNotification,
        _ batch: borrowing EventBatch, _ platforms: PlatformSet
    ) -> DeadLetter? {
        reach = .nobody
        for platform in Self.platforms where platforms.contains(PlatformSet(platform)) {
            let problem =
                switch platform {
                case .fcm: fcm.begin(request, of: notification, batch)
                case .apns: apns.begin(request, of: notification, batch)
                }
            if let problem { return problem }
        }
        expiry.removeAll()
        expiry.append(decimal: request.expiresAt.milliseconds)
        headers.begin(notification, content, id: request.id, batch, expiry.bytes)
        return nil
    }

    private mutating func problem(
        _ notification: Notification, _ order: Notification.Order, _ platforms: PlatformSet
    ) -> DeadLetter? {
        for platform in Self.platforms where platforms.contains(PlatformSet(platform)) {
            let problem: DeadLetter?
            switch platform {
            case .fcm:
                sizes.fcm = FCMMessage.size(of: notification, order, deepLink: deepLink.bytes)
                problem = FCMMessage.problem(ofSize: sizes.fcm)
            case .apns:
                sizes.apns = APNsMessage.size(of: notification, order, deepLink: deepLink.bytes)
                problem = APNsMessage.problem(ofSize: sizes.apns)
            }
            if let problem { return problem }
        }
        return nil
    }

    /// The two flat keys for the app's deep link, strings on both platforms (docs/rules.md §5.5, §7).
    private mutating func writeDeepLink(of order: Notification.Order, _ batch: borrowing EventBatch) {
        deepLink.removeAll()
        guard let type = order.orderType else { return }
        deepLink.append(#","order_type":""#)
        deepLink.append(type.text)
        deepLink.append(#"","order_id":""#)
        deepLink.appendEscaped(batch.bytes(order.orderID))
        deepLink.append("\"")
    }

    /// The digits of the seconds, taken from those of the milliseconds and rounded towards zero: writing the number
    /// costs 35 ns.
    private static func seconds(ofMilliseconds digits: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let isNegative = digits.first == UInt8(ascii: "-")
        guard digits.count > (isNegative ? 4 : 3) else { return UnsafeRawBufferPointer("0") }
        return UnsafeRawBufferPointer(rebasing: digits.dropLast(3))
    }
}
