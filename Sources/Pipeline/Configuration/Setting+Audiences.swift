import JSONReader
import NotificationPayload

extension Setting {
    /// Whom events of orders notify (docs/rules.md §5.4).
    static let audiences: [Setting] =
        [
            templates(
                "audiences", default: .value("place/{place_id}"),
                "Whom an event notifies: kinds of audience, each with the path of the member of the order that is its id, "
                    + "such as `place/{place_id},user/{customer.id}`. Not for the types that timers send."
            ) { $1.audiences = $0 }
        ]
        + EventType.allCases.map { type in
            let name = String(type.rawValue.dropFirst("event_".count))
            return templates(
                "audiences.\(name)", default: .none, "The same for `\(name)` alone, instead of `audiences`."
            ) { $1.ownAudiences[type] = $0 }
        }

    /// The event types beside document 1's (docs/rules.md §5.7). Before the texts of pushes, which may be for them.
    static let types = Setting.file(
        "events.types",
        allowed:
            "@FILE with JSON such as {\"order_delayed\":{\"names\":[\"ORDER_DELAYED\"],\"state\":\"kept\",\"members\":[\"delay_minutes\"]}}",
        "Event types of your own: the names under which they come, whether they need an order and change its state, the "
            + "members that the payload copies, and whom they notify: [the rules](rules.md#57-event-types-of-your-own)."
    ) { file, draft throws(InvalidForm) in
        draft.types = if let file { try EventTypes(json: file.bytes) } else { .none }
    }

    private static func templates(
        _ key: String, default value: Default, _ summary: String,
        _ take: @escaping @Sendable ([AudienceTemplate], inout ConfigurationDraft) -> Void
    ) -> Setting {
        let allowed = "place/, user/, channel/ or device/ and a member in braces, with commas between"
        return Setting(key: key, defaultValue: value, allowed: allowed, summary: summary) {
            text, draft throws(InvalidValue) in
            do throws(InvalidForm) {
                take(try AudienceTemplate.list(text), &draft)
            } catch {
                throw InvalidValue(allowed: "\(allowed); \(error.problems.joined(separator: "; "))")
            }
        }
    }
}
