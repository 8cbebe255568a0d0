import JSONReader

extension Setting {
    /// How events of orders are read (docs/rules.md §5.6, §5.7). Before the texts of pushes, which may be for types of one's own.
    static let events: [Setting] = [
        .file(
            "events.members",
            allowed: #"@FILE with JSON such as {"order.id":["orderId","order_no"],"event_type":["kind"]}"#,
            "Names that members of events have beside the known ones: for each of ours a list of yours, paths with dots."
        ) { file, draft throws(InvalidForm) in
            draft.members = if let file { try MemberMapping(json: file.bytes) } else { .none }
        },
        .file(
            "events.types",
            allowed:
                "@FILE with JSON such as {\"order_delayed\":{\"names\":[\"ORDER_DELAYED\"],\"state\":\"kept\",\"members\":[\"delay_minutes\"]}}",
            "Event types of your own: the names under which they come, whether they need an order and change its state, the "
                + "members that the payload copies, and whom they notify: [the rules](rules.md#57-event-types-of-your-own)."
        ) { file, draft throws(InvalidForm) in
            draft.types = if let file { try EventTypes(json: file.bytes) } else { .none }
        },
    ]
}
