import CTLS

/// A certificate authority that was made for one run, and servers' certificates by it.
///
/// `@unchecked Sendable`: OpenSSL only reads the key and the certificate once they are made.
package final class Authority: @unchecked Sendable {
    // Never changed after `init`.
    private let key: StandInKey
    private let certificate: OpaquePointer

    package init() throws(StandInError) {
        key = try StandInKey(.p256)
        // Two of the same name would be one authority with a wrong signature.
        let name = "Stand-in authority \(UInt64.random(in: 0 ... .max))"
        guard let made = ctls_make_certificate(key.pointer, name, nil, nil, nil, Self.life) else {
            throw StandInError("OpenSSL makes no certificate")
        }
        certificate = made
    }

    deinit {
        X509_free(certificate)
    }

    /// In seconds: a day.
    private static let life = 86_400

    /// What a client has to trust.
    package var pem: String { PEM.text { ctls_write_certificate(certificate, $0, $1) } }

    /// A context for a server with one of these names, as in `DNS:localhost,IP:127.0.0.1`.
    func makeServer(
        names: String, hasExpired: Bool, highest: TLSVersion?, protocols: AgreedProtocols
    ) throws(StandInError) -> OpaquePointer {
        let serverKey = try StandInKey(.p256)
        guard
            let made = ctls_make_certificate(
                serverKey.pointer, "Stand-in", names, certificate, key.pointer, hasExpired ? -60 : Self.life)
        else { throw StandInError("OpenSSL makes no certificate for \(names)") }
        defer { X509_free(made) }
        guard
            let server = ctls_make_server(made, serverKey.pointer, highest?.rawValue ?? 0, protocols.list)
        else {
            throw StandInError("OpenSSL makes no server")
        }
        return server
    }
}

package enum TLSVersion: Int32, Sendable {
    case tls11 = 0x0302
    case tls12 = 0x0303
}
