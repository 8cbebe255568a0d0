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
