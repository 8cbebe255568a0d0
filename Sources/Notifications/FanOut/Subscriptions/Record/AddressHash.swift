import Digests

/// The SHA-256 of an address, 32 bytes: what a device is called wherever its address is not needed.
package struct AddressHash: Hashable, Sendable {
    /// 64 digits of hex in lower case.
    package let hex: String

    package init(of value: String) {
        hex = SubscriptionKey.tokenHash(of: value)
    }

    /// Nil unless these are 64 digits of hex in lower case.
    package init?(hex: String) {
        guard SubscriptionKey.isTokenHash(hex) else { return nil }
        self.hex = hex
    }

    /// Nil unless these are 32 bytes.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        hex = bytes.withUnsafeBytes { $0.baseAddress.map({ Hex.string($0) }) ?? "" }
    }

    package var bytes: [UInt8] {
        var hex = hex
        return [UInt8](unsafeUninitializedCapacity: 32) { bytes, count in
            _ = hex.withUTF8 { Hex.read(UnsafeRawBufferPointer($0), to: UnsafeMutableRawPointer(bytes.baseAddress!)) }
            count = 32
        }
    }
}
