import Foundation
import JSONReader
import NotificationPayload

extension Setting {
    /// How a push is written, and what a tap on it opens.
    static let rendering: [Setting] =
        [
            .duration(
                "notification.ttl", \.configuration.rendering.timeToLive, default: "3600s", .zero ... .days(28),
                "How long after its event a notification is worth delivering."),
            .choice(
                "notification.android-priority", \.configuration.rendering.androidPriority, default: .value("high"),
                "The delivery priority on Android."),
            .custom(
                "dispatch.headers", default: .value(""),
                allowed:
                    "any of \(RenderSettings.OptionalHeader.allCases.map(\.rawValue).joined(separator: ", ")), with "
                    + "commas between",
                "Headers of a dispatch record beyond the standard ones; each costs time."
            ) { text, draft in
                let words = text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
                let headers = words.compactMap(RenderSettings.OptionalHeader.init(rawValue:))
                draft.configuration.rendering.optionalHeaders = Set(headers)
                return headers.count == words.count
            },
            .choice(
                "display", \.displaysOrders, default: .value("off"), ["on": true, "off": false],
                "`on`: order pushes have a title and a body from `display.templates`, so that they can be tapped. `off`: data only, as in document 1."
            ),
            .file(
                "display.templates",
                allowed:
                    "@FILE with JSON such as {\"default\":\"en\",\"languages\":{\"en\":{\"order_created\":{\"title\":\"Order {visible_id}\",\"body\":\"New\"}}}}",
                "The titles and bodies of order pushes by language, event type and status: [order pushes that are shown](display.md)."
            ) { file, draft throws(InvalidForm) in
                draft.displayTemplates =
                    if let file { try DisplayTemplates(json: file.bytes, own: draft.types.fields) } else { nil }
            },
            .choice(
                "broadcasts.language", \.configuration.rendering.broadcastLanguage, default: .value("all"),
                "Which languages of a broadcast a device gets: `all` as data, of which the app chooses; or the `device`'s, which the system shows. On iOS the device's is shown in either case."
            ),
        ] + DeepLinks.orderTypes.map(deepLink)

    private static func deepLink(_ orderType: String) -> Setting {
        .custom(
            "deep-link.\(orderType)", default: .none,
            allowed: "an https URL with {order_id} once after its host, and no other placeholder",
            "The URL that the app opens for an order of type `\(orderType)`, as `carillon explain` shows it; none by default. It is not sent: the app builds it."
        ) { text, draft in
            let others = draft.configuration.deepLinks.templates
            guard let links = try? DeepLinks(templates: others.merging([orderType: text]) { $1 }) else { return false }
            draft.configuration.deepLinks = links
            return true
        }
    }
}
