import KafkaClient
import Telemetry

extension Patience {
    /// Retries what needs the broker until it works, with backoff and a line every 10 s.
    ///
    /// - Parameters:
    ///   - mustEnd: whether to wait no longer; asked every 50 ms.
    ///   - explained: the error with what an operator can do.
    ///   - tell: is told each error, and nil once it has worked.
    /// - Throws: ``PipelineError`` where waiting does not help, ``PipelineEnded`` where the process ends first.
    package func untilItWorks<Value: ~Copyable>(
        _ logger: Logger, _ time: TimeSource = .machine, mustEnd: () -> Bool,
        explained: (KafkaError) -> KafkaError = { $0 },
        tell: (KafkaError?) -> Void = { _ in }, _ body: () throws(KafkaError) -> Value
    ) throws -> Value {
        var backoff = Backoff()
        while !mustEnd() {
            do {
                let value = try body()
                tell(nil)
                return value
            } catch {
                tell(error)
                let explained = explained(error)
                if try consider(explained, now: time.now()) { logger.warning("\(explained); waiting") }
                let end = time.now() + backoff.next()
                while time.now() < end, !mustEnd() { time.sleep(.milliseconds(50)) }
            }
        }
        throw PipelineEnded()
    }
}

/// The process was told to end while something still waited for the broker.
package struct PipelineEnded: Error {
    package init() {}
}
