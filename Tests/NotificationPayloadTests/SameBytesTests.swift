import NotificationPayload
import Testing

@Suite("Comparing bytes")
struct SameBytesTests {
    private func same(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.withUnsafeBytes { left in right.withUnsafeBytes { right in sameBytes(left, right) } }
    }

    @Test("equal bytes are the same at every length, and one other bit at any place is a difference")
    func everyLength() {
        for count in 0..<40 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }
            #expect(same(bytes, Array(bytes)), "length \(count)")
            for index in 0..<count {
                var other = bytes
                other[index] ^= 0x80
                #expect(!same(bytes, other), "length \(count), place \(index)")
            }
            #expect(!same(bytes, bytes + [0]), "length \(count)")
        }
    }
}
