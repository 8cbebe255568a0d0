import Synchronization

@testable import KafkaClient

/// Keeps the lines that clients log.
final class LogLines: Sendable {
    private let lines = Mutex<[ClientLog]>([])

    var sink: ClientLog.Sink {
        { line in self.lines.withLock { $0.append(line) } }
    }

    var all: [ClientLog] { lines.withLock { $0 } }
}
