import KafkaClient
import Pipeline
import Registrar
import Replay

/// The registrar's device that has the address whose subscription was written by hand.
enum AddressOwner {
    /// For so long it is searched. What was asked for is written by then, so that a topic of many devices only costs the
    /// warning.
    private static let patience: Duration = .seconds(5)

    /// Says whether a device has the address: its app's next start may undo what was written. Nothing without
    /// `topic.commands`.
    static func warn(of hash: String, _ configuration: PipelineConfiguration) {
        guard !configuration.topics.commands.isEmpty, let hash = AddressHash(hex: hash) else { return }
        for warning in warnings(of: hash, configuration, within: patience) { Terminal.warn("warning: \(warning)") }
    }

    static func warnings(
        of hash: AddressHash, _ configuration: PipelineConfiguration, within limit: Duration
    ) -> [String] {
        let unknown = "whether a device of the registrar has this address was not found out: "
        do {
            return try DeviceLog(configuration, within: limit).devices { $0.live?.hash == hash }.map { owner in
                "the device \(owner.id) has this address, and its app's next start may undo this; "
                    + "'carillon devices show \(owner.id)' shows it"
            }
        } catch is ReplayStopped {
            return [
                unknown + "\(configuration.topics.devices) takes longer than \(ConfigurationText.text(limit)) to read"
            ]
        } catch {
            return [unknown + CommandFailure(error).lines.joined(separator: "; ")]
        }
    }
}
