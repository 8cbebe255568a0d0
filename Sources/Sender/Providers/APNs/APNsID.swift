import Digests

extension ProviderRequest {
    /// The same UUID for every request of a push to a device, so that a repeat can be recognised: the first 16 bytes of
    /// the SHA-256 of message id, 0x1F and the hash of the token, with the bits of version 8 (RFC 9562).
    ///
    /// - Parameter device: 64 hex digits.
    static func apnsID(messageID: UnsafeRawBufferPointer, device: UnsafeRawBufferPointer) -> String {
        var input = Array(messageID)
        input.append(0x1F)
        input += device
        var hash = input.withUnsafeBytes { input in
            SHA256.withHash(of: input) { Array(UnsafeRawBufferPointer(start: $0, count: 32)) }
        }
        hash[6] = hash[6] & 0x0F | 0x80
        hash[8] = hash[8] & 0x3F | 0x80
        let digits = Array(hash.withUnsafeBytes { Hex.string($0.baseAddress!) }.utf8)
        return String(unsafeUninitializedCapacity: 36) { text in
            var end = 0
            for index in 0..<32 {
                if index == 8 || index == 12 || index == 16 || index == 20 {
                    text[end] = UInt8(ascii: "-")
                    end += 1
                }
                text[end] = digits[index]
                end += 1
            }
            return end
        }
    }
}
