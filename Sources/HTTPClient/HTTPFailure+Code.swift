import CCurl

extension HTTPFailure {
    /// What a code of libcurl means.
    ///
    /// - Parameters:
    ///   - sent: whether the request was given to a connection.
    ///   - hasProxy: whether there may be a proxy between: who failed to connect is then taken to be the proxy.
    init(_ code: CURLcode, sent: Bool, hasProxy: Bool, detail: String) {
        switch code {
        case CURLE_OPERATION_TIMEDOUT: self = .timedOut(sent: sent)
        case CURLE_COULDNT_RESOLVE_HOST: self = .nameNotResolved(detail: detail)
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY: self = .proxyFailed(detail: detail)
        case CURLE_COULDNT_CONNECT: self = hasProxy ? .proxyFailed(detail: detail) : .connectFailed(detail: detail)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_CRL_BADFILE, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            self = .certificateRefused(detail: detail)
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_USE_SSL_FAILED, CURLE_SSL_ENGINE_NOTFOUND,
            CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_SHUTDOWN_FAILED:
            self = .tlsFailed(detail: detail)
        case CURLE_HTTP2, CURLE_HTTP2_STREAM:
            if let number = Self.errorCode(in: detail) {
                self = .http2Failed(code: number, detail: detail)
            } else {
                self = .connectionLost(sent: sent, detail: detail)
            }
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE:
            // Before a request is sent, only a proxy has anything to say in plain HTTP.
            self = hasProxy && !sent ? .proxyFailed(detail: detail) : .connectionLost(sent: sent, detail: detail)
        // The server speaks something else than HTTP: that is not the request's fault.
        case CURLE_UNSUPPORTED_PROTOCOL where sent: self = .connectionLost(sent: sent, detail: detail)
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: self = .invalidRequest(detail: detail)
        // Codes come from a library that may be newer than this list.
        default: self = .other(code: Int(code.rawValue), sent: sent, detail: detail)
        }
    }

    /// The number in `HTTP/2 stream 1 was not closed cleanly: INTERNAL_ERROR (err 2)`.
    private static func errorCode(in detail: String) -> UInt32? {
        guard let end = detail.lastIndex(of: ")"), let start = detail[..<end].lastIndex(of: "(") else { return nil }
        let words = detail[detail.index(after: start)..<end].split(separator: " ")
        return words.count == 2 && words[0] == "err" ? UInt32(words[1]) : nil
    }
}
