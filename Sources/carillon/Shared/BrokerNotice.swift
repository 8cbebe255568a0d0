import Foundation
import KafkaClient
import Synchronization

/// Says once, on standard error, that no broker answers, and why where that is known, 3 s after the start of a command. The
/// command itself goes on trying until its own deadline.
///
/// It asks with a client of its own, since a command that waits cannot look at its own.
enum BrokerNotice {
    private static let patience: Duration = .seconds(3)
    /// How much longer the reason is waited for.
    private static let longestReason: Duration = .seconds(2)
    /// Most commands have ended by then, and pay nothing.
    private static let quiet: Duration = .seconds(1)
    private static let isOver = Atomic(false)
    private static let isAsking = Mutex(false)

    static func begin(_ settings: Settings) {
        let start = ContinuousClock.now
        Thread.detachNewThread {
            while .now < start + quiet, !isOver.load(ordering: .relaxed) { Thread.sleep(forTimeInterval: 0.05) }
            isAsking.withLock { _ in ask(settings, until: start + patience) }
        }
    }

    /// The command has ended, or is a daemon, which logs what it waits for. Waits until the client is closed, so that the
    /// process does not end under it.
    static func end() {
        isOver.store(true, ordering: .relaxed)
        isAsking.withLock { _ in }
    }

    private static func ask(_ settings: Settings, until deadline: ContinuousClock.Instant) {
        guard !isOver.load(ordering: .relaxed), var consumer = try? Consumer(assigning: settings, logger: { _ in })
        else { return }
        while .now < deadline {
            if isOver.load(ordering: .relaxed) || consumer.clusterID(timeout: .milliseconds(100)) != nil { return }
        }
        let address = settings["bootstrap.servers"] ?? ""
        var failure = consumer.takeConnectionFailure()
        while failure == nil, .now < deadline + longestReason, !isOver.load(ordering: .relaxed) {
            Thread.sleep(forTimeInterval: 0.05)
            failure = consumer.takeConnectionFailure()
        }
        let cause = failure.map { ": \($0.message)" } ?? ""
        Terminal.warn("cannot reach \(address) yet\(cause); still trying")
    }
}
