import COpenSSL

/// Compares secrets, or hashes of them, in a time that does not depend on where they differ.
package enum SameSecret {
    package static func check(_ left: String, _ right: String) -> Bool {
        check(Array(left.utf8), Array(right.utf8))
    }

    package static func check(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
    }
}
