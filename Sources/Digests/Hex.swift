/// Hex digits in lower case.
package enum Hex {
    /// Writes the 64 digits of 32 bytes, eight digits per step.
    package static func write(_ hash: UnsafeRawPointer, to target: UnsafeMutableRawPointer) {
        for step in 0..<8 {
            let four = UInt32(bigEndian: hash.loadUnaligned(fromByteOffset: step * 4, as: UInt32.self))
            var nibbles = UInt64(four)
            nibbles = (nibbles | nibbles << 16) & 0x0000_FFFF_0000_FFFF
            nibbles = (nibbles | nibbles << 8) & 0x00FF_00FF_00FF_00FF
            nibbles = (nibbles | nibbles << 4) & 0x0F0F_0F0F_0F0F_0F0F
            // 1 in every byte whose nibble is 10 or more: those are letters, 0x27 further on.
            let letters = (nibbles &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
            let digits = nibbles &+ 0x3030_3030_3030_3030 &+ letters &* 0x27
            target.storeBytes(of: digits.bigEndian, toByteOffset: step * 8, as: UInt64.self)
        }
    }

    /// The first digits of 32 bytes.
    package static func string(_ hash: UnsafeRawPointer, digits: Int = 64) -> String {
        String(unsafeUninitializedCapacity: 64) { buffer in
            guard let start = buffer.baseAddress else { return 0 }
            write(hash, to: start)
            return digits
        }
    }

    /// The 32 bytes of 64 lower-case digits; false if they are something else.
    package static func read(_ digits: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer) -> Bool {
        guard digits.count == 64 else { return false }
        for index in 0..<32 {
            guard let high = value(digits[2 * index]), let low = value(digits[2 * index + 1]) else { return false }
            target.storeBytes(of: high << 4 | low, toByteOffset: index, as: UInt8.self)
        }
        return true
    }

    /// Whether these are 64 lower-case digits.
    package static func isHash(_ digits: UnsafeRawBufferPointer) -> Bool {
        digits.count == 64 && digits.allSatisfy { value($0) != nil }
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
