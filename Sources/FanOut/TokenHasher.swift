import COpenSSL

/// SHA-256 with one context that is used again and again (feasibility §9).
struct TokenHasher: ~Copyable {
    private let context = EVP_MD_CTX_new()
    private let method = EVP_sha256()

    deinit {
        EVP_MD_CTX_free(context)
    }

    /// Writes the 32 bytes of the hash to `target`.
    mutating func hash(_ bytes: UnsafeRawBufferPointer, into target: UnsafeMutableRawPointer) {
        _ = EVP_DigestInit_ex(context, method, nil)
        _ = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
        _ = EVP_DigestFinal_ex(context, target.assumingMemoryBound(to: UInt8.self), nil)
    }
}
