import Pipeline

/// What `check-config` says of settings that work, and leave something open to others.
struct ExposureCheck {
    private(set) var warnings: [String] = []

    init(_ configuration: PipelineConfiguration) {
        func setting(_ name: String) -> String? { configuration.kafka[name]?.lowercased() }
        if setting("security.protocol") == "sasl_plaintext" {
            warnings.append(
                "kafka.security.protocol=SASL_PLAINTEXT: the login goes over the network without encryption; use SASL_SSL"
            )
        }
        if setting("enable.ssl.certificate.verification") == "false" {
            warnings.append(
                "kafka.enable.ssl.certificate.verification=false: any server is taken for a broker; give its authority by "
                    + "kafka.ssl.ca.location")
        }
        if setting("ssl.endpoint.identification.algorithm") == "none" {
            warnings.append(
                "kafka.ssl.endpoint.identification.algorithm=none: any host with a certificate of the authority is taken "
                    + "for a broker; the default is https")
        }
        if let address = configuration.api.http, !["127.0.0.1", "::1", "localhost"].contains(address.host) {
            warnings.append(
                "api.http=\(address): keys go over the network without encryption; use 127.0.0.1 and a proxy with TLS")
        }
        if let address = configuration.http, ["", "0.0.0.0", "::"].contains(address.host) {
            warnings.append(
                "http=\(address): whoever reaches this host can read /metrics, which has no login; in a container let a "
                    + "network policy decide, else use 127.0.0.1")
        }
    }
}
