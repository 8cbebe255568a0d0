import CCurl

extension HTTPFailure {
    /// Why libcurl could not connect.
    ///
    /// - Parameter hasProxy: whether there may be a proxy between: who failed to connect is then taken to be the proxy.
    init(_ code: CURLcode, hasProxy: Bool, detail: String) {
        switch code {
        case CURLE_OPERATION_TIMEDOUT: self = .timedOut(sent: false)
        case CURLE_COULDNT_RESOLVE_HOST: self = .nameNotResolved(detail: detail)
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY: self = .proxyFailed(detail: detail)
        case CURLE_COULDNT_CONNECT: self = hasProxy ? .proxyFailed(detail: detail) : .connectFailed(detail: detail)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_CRL_BADFILE, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            self = .certificateRefused(detail: detail)
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_USE_SSL_FAILED, CURLE_SSL_ENGINE_NOTFOUND,
            CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_SHUTDOWN_FAILED:
            self = .tlsFailed(detail: detail)
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE:
            // Only a proxy has anything to say before TLS.
            self = hasProxy ? .proxyFailed(detail: detail) : .connectionLost(sent: false, detail: detail)
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: self = .invalidRequest(detail: detail)
        // Codes come from a library that may be newer than this list.
        default: self = .other(code: Int(code.rawValue), sent: false, detail: detail)
        }
    }
}
