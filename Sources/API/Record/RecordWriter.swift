import Dispatch
import KafkaClient
import Synchronization

/// Writes single records, and tells of each what became of it. Any thread gives; one thread owns the producer.
///
/// What waits is bounded, so that a broker that is away costs memory for a few seconds only: the producer gives each record up
/// after `delivery.timeout.ms`.
package final class RecordWriter: Sendable {
    package struct Entry: Sendable {
        package var topic: String
        package var record: ProducerRecord
        /// Called once, on the writer's thread.
        package var done: @Sendable (DeliveryReport.Outcome) -> Void

        package init(
            topic: String, record: ProducerRecord, done: @escaping @Sendable (DeliveryReport.Outcome) -> Void
        ) {
            (self.topic, self.record, self.done) = (topic, record, done)
        }

        var size: Int { (record.key?.count ?? 0) + (record.value?.count ?? 0) }
    }

    private struct Mailbox {
        var entries: [(entry: Entry, since: ContinuousClock.Instant)] = []
        /// Those that were given and have no outcome.
        var count = 0
        var bytes = 0
        /// Whether somebody writes.
        var isOpen = false
        var isClosing = false
    }

    package static let mostEntries = 10_000
    package static let mostBytes = 64 << 20
    /// How long a writer with nothing to do waits: it hears of what happens to its client then.
    private static let idle = DispatchTimeInterval.milliseconds(200)

    private let mailbox = Mutex(Mailbox())
    private let came = DispatchSemaphore(value: 0)

    package init() {}

    /// What its producer needs. A record lingers for a moment, so that those of a partition are one request: without, answers take
    /// longer (docs/kafka.md 26).
    ///
    /// - Parameter time: by its end a record has its outcome.
    package static func settings(_ time: Duration) -> Settings {
        let time = Int(time / .milliseconds(1))
        return [
            "delivery.timeout.ms": "\(time)", "request.timeout.ms": "\(time)", "linger.ms": "2",
        ]
    }

    /// Whether somebody writes now.
    package var isOpen: Bool { mailbox.withLock { $0.isOpen } }

    /// - Returns: false if nobody writes, or too many records are on their way: it is certain that this one is not written.
    package func give(_ entry: Entry) -> Bool {
        let (isTaken, isFirst) = mailbox.withLock { mailbox in
            guard mailbox.isOpen, !mailbox.isClosing, mailbox.count < Self.mostEntries,
                mailbox.bytes + entry.size <= Self.mostBytes
            else { return (false, false) }
            mailbox.count += 1
            mailbox.bytes += entry.size
            mailbox.entries.append((entry, .now))
            return (true, mailbox.entries.count == 1)
        }
        if isFirst { came.signal() }
        return isTaken
    }

    /// Takes no more; ``run(_:tell:)`` ends when all have their outcome.
    package func close() {
        mailbox.withLock { $0.isClosing = true }
        came.signal()
    }

    /// Writes until ``close()``. The caller's thread owns the producer.
    ///
    /// - Parameters:
    ///   - producer: one that reports each record, and knows the topics.
    ///   - time: as in its ``settings(_:)``. What has waited for a third of it, and is not with the producer, is not written.
    ///   - tell: hears several times a second why records were not written, and what else has happened to the client.
    /// - Throws: the producer's fatal error, and what `tell` throws. What has no outcome then gets one.
    package func run(
        _ producer: inout Producer, _ time: Duration, tell: ([KafkaError]) throws -> Void = { _ in }
    ) throws {
        var open: [UInt64: (entry: Entry, batch: UInt64)] = [:]
        var batches = OpenBatches()
        var next: UInt64 = 0
        mailbox.withLock { $0.isOpen = true }
        defer { leave(open.values.map(\.entry)) }
        while true {
            let (entries, isClosing) = batches.isFull ? ([], false) : take()
            let batch = next
            for (entry, since) in entries {
                guard .now - since < time / 3 else {
                    end(entry, .notWritten(.waited))
                    continue
                }
                do throws(KafkaError) {
                    let topic = try producer.topic(entry.topic)
                    try producer.produce(entry.record, to: topic, tag: next)
                    open[next] = (entry, batch)
                    batches.add(to: batch)
                    next += 1
                } catch {
                    end(entry, .notWritten(error))
                }
            }
            if open.isEmpty, entries.isEmpty {
                if isClosing { return }
                _ = came.wait(timeout: .now() + Self.idle)
            }
            // What comes within the millisecond goes with the next ones.
            producer.poll(timeout: open.isEmpty ? .zero : .milliseconds(1))
            var errors = producer.takeErrors()
            for report in producer.takeReports() {
                guard let (entry, batch) = open.removeValue(forKey: report.tag) else { continue }
                batches.remove(from: batch)
                end(entry, report.outcome)
                switch report.outcome {
                case .written: break
                case .notWritten(let error), .unknown(let error): errors.append(error)
                }
            }
            if let fatal = producer.fatalError { throw fatal }
            try tell(errors)
        }
    }

    private func take() -> (entries: [(entry: Entry, since: ContinuousClock.Instant)], isClosing: Bool) {
        mailbox.withLock { mailbox in
            defer { mailbox.entries.removeAll(keepingCapacity: true) }
            return (mailbox.entries, mailbox.isClosing)
        }
    }

    /// Nobody writes any more.
    private func leave(_ open: [Entry]) {
        mailbox.withLock { $0.isOpen = false }
        for (entry, _) in take().entries { end(entry, .notWritten(.writerEnded)) }
        for entry in open { end(entry, .unknown(.writerEnded)) }
    }

    private func end(_ entry: Entry, _ outcome: DeliveryReport.Outcome) {
        mailbox.withLock { mailbox in
            mailbox.count -= 1
            mailbox.bytes -= entry.size
        }
        entry.done(outcome)
    }
}

extension KafkaError {
    fileprivate static let waited = KafkaError(
        kind: .timedOut, recovery: .retry, name: "", message: "the broker does not answer those before it",
        operation: "produce")
    fileprivate static let writerEnded = KafkaError(
        kind: .state, recovery: .giveUp, name: "", message: "the writer has ended", operation: "produce")
}
