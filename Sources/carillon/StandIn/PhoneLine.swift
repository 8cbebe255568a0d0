import NotificationPayload
import ProviderStandIn
import Telemetry

/// A request to a provider's stand-in as a line for a person: what the phone would show. Tokens are never shown.
enum PhoneLine {
    /// `phone 3fa94c11 (fcm) shows "On its way: Tap to track it"  msg-1751875337000-tap195iux  accepted`
    static func text(_ provider: StandInProviders.Provider, _ record: StandInRecord) -> String {
        let push = received(provider, record.body)
        let parts = [
            "phone \(record.tokenHash.prefix(8)) (\(provider.rawValue)) \(PushText.text(push))", push.messageID,
            record.reason.map { "\(record.status) \($0)" } ?? "accepted",
        ]
        return parts.compactMap { $0 }.joined(separator: "  ").inOneLine
    }

    /// The push in a request's body.
    static func received(_ provider: StandInProviders.Provider, _ body: [UInt8]) -> ReceivedNotification {
        guard let member = provider.pushMember else { return ReceivedNotification(json: body) }
        return ReceivedNotification(json: PushValue(json: body)?[member]?.json ?? "")
    }
}

/// What a phone makes of a push, as the library for apps reads it.
enum PushText {
    /// `shows "Title: body"`; or `gets` and the data, of a silent push: what is shown is then up to the app.
    static func text(_ push: ReceivedNotification) -> String {
        switch push {
        case .order(let order): shown(order.title, order.body) ?? "gets, silently, \(about(order.payload))"
        case .other(let other):
            shown(other.order.title, other.order.body)
                ?? silent(about(other.order.payload), other.fields.mapValues(PushValue.string))
        case .app(let app):
            shown(app.title, app.body)
                ?? silent(app.type, app.data.filter { $0.key != "type" }.mapValues(PushValue.string))
        case .message(let message): shown(message.title, message.body) ?? silent("data", message.extras)
        case .broadcast(let broadcast):
            shown(broadcast.title, broadcast.body) ?? "gets, silently, \(about(broadcast))"
        case .unknown(let unknown): "gets what no app can read (\(unknown.reason))"
        }
    }

    private static func shown(_ title: String?, _ body: String?) -> String? {
        let texts = [title, body].compactMap { $0 }
        return texts.isEmpty ? nil : "shows \"\(texts.joined(separator: ": "))\""
    }

    /// `order_status_changed of order 7, pending → processing, for 2025-07-07 14:00–16:00`
    private static func about(_ payload: OrderPayload) -> String {
        let order = payload.visibleID.isEmpty ? payload.orderID : payload.visibleID
        let change = payload.statusChange.map { ", \($0.previous) → \($0.new)" } ?? ""
        return payload.eventType.replacing("event_", with: "", maxReplacements: 1)
            + (order.isEmpty ? " at place \(payload.placeID)" : " of order \(order)") + change
            + ", for \(payload.deliveryDate) \(payload.startTime)–\(payload.endTime)"
    }

    private static func about(_ broadcast: Broadcast) -> String {
        switch broadcast.content {
        case .display(let display):
            let first = display.texts.first.map { "\"\($0.title): \($0.message)\"" } ?? "no text"
            let languages = display.texts.map(\.language).joined(separator: ", ")
            return "the broadcast \(broadcast.notificationID) to show: \(first) (\(languages))"
        case .nonDisplay(let change):
            return "the broadcast \(broadcast.notificationID): \(change.kind.rawValue) \(change.data ?? "")"
        case nil: return "the broadcast \(broadcast.notificationID)"
        }
    }

    /// `gets, silently, NewBill with amount=23.40, place=42`
    private static func silent(_ name: String, _ data: [String: PushValue]) -> String {
        let members = data.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.text ?? "")" }
        return "gets, silently, \(name)" + (members.isEmpty ? "" : " with \(members.joined(separator: ", "))")
    }
}
