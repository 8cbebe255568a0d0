/// A 64-bit checksum over a key and its value, so that a value under the wrong key is detected as well.
///
/// LMDB has no checksums (docs/code.md §7). A multiply-and-fold mix of 16 bytes per step; one flipped bit or torn
/// page in 2^64 goes unnoticed. Protects against damage, not against tampering.
package enum Checksum {
    static let byteCount = 8

    package static func of(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> UInt64 {
        mix(mix(0x9E37_79B9_7F4A_7C15, key), value)
    }

    private static func mix(_ seed: UInt64, _ bytes: UnsafeRawBufferPointer) -> UInt64 {
        let count = bytes.count
        var hash = fold(seed ^ UInt64(truncatingIfNeeded: count), 0xA076_1D64_78BD_642F)
        var position = 0
        while count - position >= 16 {
            hash = fold(
                word(bytes, position) ^ 0xE703_7ED1_A0B4_28DB, word(bytes, position + 8) ^ hash)
            position += 16
        }
        // The remaining bytes as two big-endian numbers: up to eight, and those after them.
        let left = count - position
        let low = number(bytes, position, min(left, 8))
        let high = left > 8 ? number(bytes, position + 8, left - 8) : 0
        return fold(low ^ 0x8EBC_6AF0_9C88_C6E3, high ^ hash)
    }

    /// At most 8 bytes as a big-endian number. Where there are bytes before them, a single load of eight replaces a
    /// loop.
    @inline(__always)
    private static func number(_ bytes: UnsafeRawBufferPointer, _ position: Int, _ length: Int) -> UInt64 {
        let end = position + length
        if end >= 8 {
            return length == 0 ? 0 : word(bytes, end - 8).bigEndian & UInt64.max >> UInt64(64 - 8 * length)
        }
        return bytes[position..<end].reduce(0) { $0 << 8 | UInt64($1) }
    }

    @inline(__always)
    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }

    @inline(__always)
    private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }
}
