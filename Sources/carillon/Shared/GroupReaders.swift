import Foundation
import KafkaClient
import Pipeline
import Synchronization

/// The live processes of a group that read a topic.
struct GroupReaders {
    /// Whether none has a partition of it; false also where the cluster does not say in time.
    let areMissing: Bool

    /// It is for a warning, so it never holds a command up: librdkafka waits without end where a broker does not know the
    /// request, and in the client's tear-down as well.
    private static let patience: DispatchTimeInterval = .seconds(2)

    init(_ group: String, _ topic: String, _ configuration: PipelineConfiguration) {
        let answer = Answer()
        Thread.detachNewThread {
            guard let admin = try? Admin(settings: configuration.kafka, logger: configuration.clientSink),
                let members = try? admin.describe(group: group).members
            else { return }
            answer.areMissing.store(
                !members.contains { $0.assignment.contains { $0.topic == topic } }, ordering: .releasing)
            answer.isThere.signal()
        }
        areMissing =
            answer.isThere.wait(timeout: .now() + Self.patience) == .success
            && answer.areMissing.load(ordering: .acquiring)
    }

    private final class Answer: Sendable {
        let areMissing = Atomic(false)
        let isThere = DispatchSemaphore(value: 0)
    }
}
