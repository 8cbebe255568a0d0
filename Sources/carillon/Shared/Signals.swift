import Dispatch
import Foundation
import Synchronization

/// SIGTERM and SIGINT: the first drains, the second ends the process at once. Handles the signals as long as it lives.
final class Signals {
    private final class Count: Sendable {
        let value = Atomic<Int>(0)
    }

    private var sources: [any DispatchSourceSignal] = []

    init(first: @escaping @Sendable () -> Void, again: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "carillon.signals")
        let count = Count()
        for number in [SIGTERM, SIGINT] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                if count.value.add(1, ordering: .relaxed).newValue == 1 { first() } else { again() }
            }
            source.resume()
            sources.append(source)
        }
    }

    /// Returns at the first signal; a second one ends the process at once.
    static func first() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let signals = Signals(first: { continuation.finish() }, again: { exit(ExitCode.notInTime.rawValue) })
        for await _ in stream {}
        withExtendedLifetime(signals) {}
    }

    /// Stops handling the signals.
    func cancel() {
        for source in sources { source.cancel() }
        sources.removeAll()
    }
}
