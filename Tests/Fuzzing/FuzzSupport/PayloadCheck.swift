import NotificationPayload

/// Checks that a `default` string satisfies the document's own validator, except for the documented fallback without an
/// order id, and equals what the app library writes.
///
/// - Returns: the payload.
package func checkPayload(_ encoded: String, isDegraded: Bool) -> OrderPayload {
    guard let payload = try? OrderPayload(encoded: encoded) else { fail("no payload can be read from \(encoded)") }
    do throws(OrderPayloadError) {
        try payload.validate()
        expect(!isDegraded, "a payload that lacks nothing is not called degraded: \(encoded)")
    } catch {
        let isAllowed =
            error == .missingFields(["order_id", "parent_order_id"]) || error == .missingFields(["order_id"])
        expect(isDegraded && isAllowed, "the payload is valid (\(error)): \(encoded)")
    }
    expect(payload.encoded() == encoded, "read and written again it is the same: \(encoded)")
    return payload
}
