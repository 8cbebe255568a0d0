import JSONReader

extension Setting {
    /// How events of orders are read (docs/rules.md §5.6).
    static let events: [Setting] = [
        .file(
            "events.members",
            allowed: #"@FILE with JSON such as {"order.id":["orderId","order_no"],"event_type":["kind"]}"#,
            "Names that members of events have beside the known ones: for each of ours a list of yours, paths with dots."
        ) { file, draft throws(InvalidForm) in
            draft.members = if let file { try MemberMapping(json: file.bytes) } else { .none }
        }
    ]
}
