extension DispatchRecord {
    /// A field that a notification can be sent without (docs/rules.md §5.3).
    package enum MissingField: Sendable {
        case orderID

        /// The value of the header.
        var name: StaticString {
            switch self {
            case .orderID: "order_id"
            }
        }
    }
}
