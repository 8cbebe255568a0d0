import NotificationPayload

/// Checks that a `default` string satisfies the document's own validator, except for the documented fallback without an
/// order id, and equals what the app library writes.
///
/// - Parameter needsPlace: whether an order without a place is a dead letter.
/// - Returns: the payload.
package func checkPayload(_ encoded: String, isDegraded: Bool, needsPlace: Bool = true) -> OrderPayload {
    guard let payload = try? OrderPayload(encoded: encoded) else { fail("no payload can be read from \(encoded)") }
    var complete = payload
    if !needsPlace, complete.placeID.isEmpty { complete.placeID = "p" }
    do throws(OrderPayloadError) {
        try complete.validate()
        expect(!isDegraded, "a payload that lacks nothing is not called degraded: \(encoded)")
    } catch {
        let isAllowed =
            error == .missingFields(["order_id", "parent_order_id"]) || error == .missingFields(["order_id"])
        expect(isDegraded && isAllowed, "the payload is valid (\(error)): \(encoded)")
    }
    expect(payload.encoded() == encoded, "read and written again it is the same: \(encoded)")
    return payload
}
