import Dispatch
import Foundation
import Synchronization

/// SIGTERM and SIGINT: the first drains, the second stops at once.
final class Signals: Sendable {
    private let received = Atomic<Int>(0)
    private let sources: Mutex<[any DispatchSourceSignal]> = Mutex([])

    init(first: @escaping @Sendable () -> Void, again: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "carillon.signals")
        for number in [SIGTERM, SIGINT] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { [self] in
                let count = received.add(1, ordering: .relaxed).newValue
                if count == 1 { first() } else { again() }
            }
            source.resume()
            sources.withLock { $0.append(source) }
        }
    }

    /// Lets go of the signals.
    func cancel() {
        sources.withLock { sources in
            for source in sources { source.cancel() }
            sources.removeAll()
        }
    }
}
