import Foundation
import KafkaClient
import Pipeline
import Replay
import Telemetry

/// `topic.control` as the commands read and write it.
struct ControlLog {
    private let configuration: PipelineConfiguration
    private var topic: String { configuration.topics.control }

    /// - Throws: where `topic.control` is not set: exit code 78.
    init(_ options: ConfigurationOptions) throws {
        configuration = try options.checked(
            with: \.control, "control", so: "no sender can be told", alsoFor: "carillon deliver")
    }

    /// The names of a provider's credentials; empty where this configuration has none.
    func credentials(of platform: Platform) -> [String] {
        configuration.delivery.credentials.filter { $0.platform == platform }.map(\.name)
    }

    /// What the topic says, from its beginning to its present end.
    func read() throws -> ControlView {
        var kafka = try KafkaLog(configuration, logger: configuration.clientSink, isStopped: { false })
        var fold = ControlFold()
        try kafka.read(try kafka.bounds(of: topic), of: topic) { records, indices in
            for index in indices {
                let record = records.record(at: index)
                fold.take(key: record.key ?? [], value: record.value, at: record.timestamp ?? .epoch)
            }
        }
        return fold.view
    }

    /// Returns when the record is written.
    ///
    /// - Parameter entry: nil takes back what the key says.
    func write(_ key: ControlKey, _ entry: ControlEntry?) throws(KafkaError) {
        var writer = try TopicWriter(topic, configuration)
        try writer.write(key: key.text, value: entry?.json)
        try writer.finish()
    }
}

extension ControlEntry {
    /// Of whoever runs the command.
    static func own(why: String) -> ControlEntry {
        ControlEntry(
            why: why, by: "\(NSUserName())@\(ProcessInfo.processInfo.hostName)", at: WallClock.now)
    }

    /// What is wrong with a reason.
    static func problem(why: String) -> String? {
        why.utf8.count > mostText ? "--why has \(why.utf8.count) bytes; allowed are at most \(mostText)" : nil
    }
}
