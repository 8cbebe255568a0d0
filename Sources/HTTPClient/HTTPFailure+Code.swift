import CCurl
import Glibc

extension HTTPFailure {
    /// Why libcurl could not connect.
    ///
    /// - Parameters:
    ///   - systemError: of the last call that failed.
    ///   - verification: OpenSSL's result for the server's certificate.
    ///   - hasProxy: whether there may be a proxy between: who failed to connect is then taken to be the proxy.
    init(_ code: CURLcode, systemError: Int32, verification: Int32, hasProxy: Bool, detail: String) {
        switch code {
        case CURLE_OPERATION_TIMEDOUT: self = .timedOut(sent: false)
        case CURLE_COULDNT_RESOLVE_HOST: self = .nameNotResolved(detail: detail)
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY: self = .proxyFailed(detail: detail)
        case CURLE_COULDNT_CONNECT where hasProxy: self = .proxyFailed(detail: detail)
        case CURLE_COULDNT_CONNECT where systemError == ECONNREFUSED: self = .connectionRefused(detail: detail)
        case CURLE_COULDNT_CONNECT: self = .connectFailed(detail: detail)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_CRL_BADFILE, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            self = .certificateRefused(CertificateFault(verification), detail: detail)
        // A server without HTTP/2 ends the handshake with this alert (RFC 7301), or goes on without an agreement.
        case CURLE_SSL_CONNECT_ERROR where detail.contains("no application protocol"): self = .notHTTP2
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

/// What is wrong with a server's certificate.
package enum CertificateFault: Sendable, Equatable {
    /// It is for another name.
    case name
    /// It has expired, or is not valid yet.
    case time
    /// No trusted authority has signed it.
    case authority
    case other

    /// - Parameter verification: OpenSSL's result (`X509_V_ERR_…`). The name is compared by libcurl, afterwards.
    init(_ verification: Int32) {
        switch verification {
        case X509_V_OK, X509_V_ERR_UNSPECIFIED, X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            self = .name
        case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID: self = .time
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED, X509_V_ERR_INVALID_CA:
            self = .authority
        default: self = .other
        }
    }
}

extension CertificateFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .name: "is for another name"
        case .time: "has expired, or is not valid yet"
        case .authority: "is of no trusted authority"
        case .other: "is not valid"
        }
    }
}
