import COpenSSL

/// What OpenSSL frees by itself when a process exits.
package enum OpenSSLCleanup {
    /// Leaves it to the kernel, if this is the first use of OpenSSL in the process.
    ///
    /// OpenSSL's handler of `exit` frees locks that the end of a thread still takes: a client's thread that ended in the
    /// same moment crashed the process, after all was committed (OpenSSL 3.0, `OPENSSL_INIT_NO_ATEXIT`).
    package static func isLeftOut() {
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }
}
