/// The two flat keys from which an app makes its deep link (document 3, "Notification Data Structure"): FCM's `data` has
/// them beside `default`, an APNs payload beside `aps` (docs/rules.md §5.5).
public struct DeepLinkKeys: Hashable, Sendable {
    /// As it was sent; Carillon writes `food` and `d2d`.
    public var orderType: String
    public var orderID: String

    public init(orderType: String, orderID: String) {
        self.orderType = orderType
        self.orderID = orderID
    }

    /// - Returns: nil unless both keys are there and neither is empty.
    init?(_ data: [String: PushValue]) {
        guard let orderType = data["order_type"]?.nonEmpty, let orderID = data["order_id"]?.nonEmpty else { return nil }
        self.init(orderType: orderType, orderID: orderID)
    }
}
