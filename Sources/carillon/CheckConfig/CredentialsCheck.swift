import Delivery
import Pipeline

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
        let lanes = delivery.lanes.credentials(of: map).sorted { $0.key < $1.key }
        warnings += lanes.compactMap { lane, indices in
            let names = indices.sorted().map { "'\(map.entries[$0].name)'" }
            switch names.count {
            case 0: return "lane '\(lane)' has no credential: what it reads is refused (no_credential)"
            case 1: return nil
            default:
                return "lane '\(lane)' has the credentials \(names.joined(separator: ", ")): "
                    + "a paused credential stops its lane; delivery.lanes can give each a lane of its own"
            }
        }
        let named = map.entries.filter { $0.platform == .fcm && !$0.apps.isEmpty }.map { "'\($0.name)'" }
        if !named.isEmpty, !configuration.rendering.optionalHeaders.contains(.app) {
            warnings.append(
                "the records of FCM do not say their app without dispatch.headers=app, so none is sent with "
                    + named.joined(separator: ", "))
        }
    }
}
