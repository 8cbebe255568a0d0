import COpenSSL

/// SHA-256 of short inputs.
enum SHA256 {
    /// Writes the 32 bytes of the hash to `target`.
    static func hash(_ bytes: UnsafeRawBufferPointer, into target: UnsafeMutableRawPointer) {
        EVP_Digest(bytes.baseAddress, bytes.count, target.assumingMemoryBound(to: UInt8.self), nil, EVP_sha256(), nil)
    }
}
