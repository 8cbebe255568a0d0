import Pipeline
import Sender

/// What `check-config` says of `carillon deliver`: it reads the files of the credentials, and asks no provider.
struct CredentialsCheck {
    var problems: [ConfigurationProblem] = []
    /// What works, and may not be what was meant.
    var warnings: [String] = []

    init(_ configuration: PipelineConfiguration) {
        let delivery = configuration.delivery
        warnings = delivery.credentials.compactMap(LoadedCredential.warning)
        for credential in delivery.credentials {
            do throws(CredentialError) {
                _ = try LoadedCredential.read(credential)
            } catch {
                problems.append(
                    ConfigurationProblem(
                        subject: "delivery.credentials", message: "credential '\(credential.name)': \(error)"))
            }
        }
        guard !delivery.credentials.isEmpty, let map = try? delivery.credentialMap() else { return }
        warnings += Platform.allCases.filter { provider in !map.entries.contains { $0.platform == provider } }.map {
            "\($0.rawValue) has no credential: its pushes are refused (no_credential)"
        }
        guard !configuration.rendering.optionalHeaders.contains(.app) else { return }
        for platform in Platform.allCases where platform.hasAppInHeader {
            let named = map.entries.filter { $0.platform == platform && !$0.apps.isEmpty }.map { "'\($0.name)'" }
            guard !named.isEmpty else { continue }
            warnings.append(
                "the records of \(platform.name) do not say their app without dispatch.headers=app, so none is sent "
                    + "with " + named.joined(separator: ", "))
        }
    }
}
