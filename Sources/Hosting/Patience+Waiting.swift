import Foundation
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
        _ logger: Logger, mustEnd: () -> Bool, explained: (KafkaError) -> KafkaError = { $0 },
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
                if try consider(explained) { logger.warning("\(explained); waiting") }
                let end = ContinuousClock.now + backoff.next()
                while .now < end, !mustEnd() { Thread.sleep(forTimeInterval: 0.05) }
            }
        }
        throw PipelineEnded()
    }
}

/// The process was told to end while something still waited for the broker.
package struct PipelineEnded: Error {}
