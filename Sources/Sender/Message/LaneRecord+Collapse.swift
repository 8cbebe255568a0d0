import Digests

extension LaneRecord {
    /// The collapse key that a request has set, as the first eight bytes of its hash; nil where
    /// there is none, or where it is the message id, as in pushes of orders and broadcasts.
    var collapse: UInt64? {
        value.withUnsafeBytes { value in
            guard let found = JSONScanner(text: value).value(at: platform.collapseKey) else { return nil }
            let key = String(decoding: value[found], as: UTF8.self)
            return key == "\"\(messageID)\"" ? nil : DeviceOrder.device(of: SHA256.hex(of: key))
        }
    }
}
