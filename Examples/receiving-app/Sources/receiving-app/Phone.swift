import NotificationPayload

/// One device's app.
struct Phone {
    private var seen = Deduplicator(capacity: 100)
    private let links: DeepLinks
    /// The language that the user has set.
    private let locale: String

    init(locale: String = "en", links: DeepLinks = DeepLinks()) {
        self.locale = locale
        self.links = links
    }

    /// What the user sees: the text, and below it what a tap opens and what the app gets to know.
    mutating func receive(_ push: ReceivedPush) -> [String] {
        let notification = ReceivedNotification(push)
        if seen.isRepeat(notification.messageID) {
            return ["duplicate, dropped: \(notification.messageID ?? "")"]
        }
        return show(notification) + (notification.deepLink(links).map { ["opens \($0)"] } ?? [])
    }

    private func show(_ notification: ReceivedNotification) -> [String] {
        switch notification {
        case .order(let order):
            let own = order.title == nil && order.body == nil ? text(of: order.payload) : text(order.title, order.body)
            return [own] + order.payload.problems.map { "problem: \($0)" }
        case .other(let other):
            let own = "\(other.name) of order #\(other.order.payload.visibleID)"
            return [other.order.title == nil ? own : text(other.order.title, other.order.body)]
                + data(other.fields.mapValues(PushValue.string))
        case .app(let app):
            return [text(app.title, app.body)] + data(app.data.mapValues(PushValue.string))
        case .message(let message):
            return [message.isSilent ? "(silent)" : text(message.title, message.body)] + data(message.extras)
        case .broadcast(let broadcast):
            return show(broadcast)
        case .unknown(let unknown):
            return ["not understood: \(unknown.reason)"] + data(unknown.push.data)
        }
    }

    /// A broadcast to be shown has the texts of all languages, unless the system has shown the device's already
    /// (document 4). A real app also looks at ``Broadcast/expiresAt``.
    private func show(_ broadcast: Broadcast) -> [String] {
        switch broadcast.content {
        case .display(let display):
            let own = display.text(for: locale)
            let banner = text(broadcast.title ?? own?.title, broadcast.body ?? own?.message)
            let image = display.poster.map { ["image \($0)"] } ?? []
            return ["\(display.kind): \(banner)"] + image + (display.isCancellable ? [] : ["cannot be dismissed"])
        case .nonDisplay(let nonDisplay):
            return ["(silent) \(nonDisplay.kind.rawValue): \(nonDisplay.data ?? "")"]
        case nil:
            return ["not understood: broadcast \(broadcast.notificationID)"]
        }
    }

    /// An order push has no text, unless the sender has `display=on`: the app writes it (document 1, "Notification
    /// Payload Schema").
    private func text(of order: OrderPayload) -> String {
        let name = "Order #\(order.visibleID.isEmpty ? order.orderID : order.visibleID)"
        let slot = "\(order.deliveryDate) \(order.startTime)–\(order.endTime)"
        switch EventType(rawValue: order.eventType) {
        case .orderCreated: return text("New order", "\(name) for \(slot)")
        case .orderStatusChanged:
            return text("Order status updated", "\(name) is now \(order.statusChange?.new ?? "?")")
        case .timeslotStarted: return text("Time slot started", "\(name), \(slot)")
        case .unpickedOrdersReminder: return text("Not picked yet", "\(name), \(slot)")
        case .orderIDsListed: return text("Order", "\(name), \(slot)")
        case nil: return text("Order", "\(name): \(order.eventType)")
        }
    }

    private func text(_ title: String?, _ body: String?) -> String {
        [title, body].compactMap { $0 }.joined(separator: ": ")
    }

    private func data(_ members: [String: PushValue]) -> [String] {
        members.isEmpty ? [] : ["data \(PushValue.object(members).json)"]
    }
}
