import COpenSSL

/// SHA-256, for ids and keys.
package enum SHA256 {
    /// Writes the 32 bytes of the hash to `target`. Allocates nothing.
    @inlinable
    package static func hash(_ bytes: UnsafeRawBufferPointer, into target: UnsafeMutableRawPointer) {
        copenssl_sha256(bytes.baseAddress, bytes.count, target.assumingMemoryBound(to: UInt8.self))
    }

    /// The 32 bytes of the hash, as long as `body` runs. Allocates nothing.
    @inlinable
    package static func withHash<Result>(
        of bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawPointer) -> Result
    ) -> Result {
        withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { target in
            hash(bytes, into: target.baseAddress!)
            return body(UnsafeRawPointer(target.baseAddress!))
        }
    }

    /// What texts begin with that are hashed one after another: it is read once, however many there are.
    package struct Beginning {
        private var context = SHA256_CTX()

        package init(_ bytes: UnsafeRawBufferPointer) {
            SHA256_Init(&context)
            SHA256_Update(&context, bytes.baseAddress, bytes.count)
        }

        /// Writes the 32 bytes of the hash of the beginning with `rest` after it to `target`. Allocates nothing.
        package func hash(_ rest: UnsafeRawBufferPointer, into target: UnsafeMutableRawPointer) {
            var context = context
            SHA256_Update(&context, rest.baseAddress, rest.count)
            SHA256_Final(target.assumingMemoryBound(to: UInt8.self), &context)
        }
    }

    /// The first digits of the hash of a text, in lower-case hex. Allocates: not for the hot path.
    package static func hex(of text: String, digits: Int = 64) -> String {
        var text = text
        return text.withUTF8 { bytes in
            withHash(of: UnsafeRawBufferPointer(bytes)) { Hex.string($0, digits: digits) }
        }
    }
}
