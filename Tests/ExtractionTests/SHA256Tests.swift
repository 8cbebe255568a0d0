import COpenSSL
import Testing

@testable import Extraction

@Suite("SHA-256")
struct SHA256Tests {
    @Test("texts of all lengths up to four blocks have OpenSSL's own hash")
    func lengths() {
        let text = (0..<256).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) }
        for count in 0...text.count {
            var expected = [UInt8](repeating: 0, count: 32)
            var hash = [UInt8](repeating: 0, count: 32)
            _ = COpenSSL.SHA256(text, count, &expected)
            text.withUnsafeBytes { bytes in
                hash.withUnsafeMutableBytes { target in
                    guard let start = target.baseAddress else { return }
                    Extraction.SHA256.hash(UnsafeRawBufferPointer(rebasing: bytes[..<count]), into: start)
                }
            }
            #expect(hash == expected, "\(count) bytes")
        }
        #expect(Extraction.SHA256.hex(of: "abc", digits: 16) == "ba7816bf8f01cfea")
    }
}
