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
        var entries: [Entry] = []
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
            mailbox.entries.append(entry)
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
    ///   - tell: hears several times a second why records were not written, and what else has happened to the client.
    /// - Throws: the producer's fatal error, and what `tell` throws. What has no outcome then gets one.
    package func run(_ producer: inout Producer, tell: ([KafkaError]) throws -> Void = { _ in }) throws {
        var open: [UInt64: Entry] = [:]
        var next: UInt64 = 0
        mailbox.withLock { $0.isOpen = true }
        defer { leave(open) }
        while true {
            let (entries, isClosing) = take()
            for entry in entries {
                do throws(KafkaError) {
                    let topic = try producer.topic(entry.topic)
                    try producer.produce(entry.record, to: topic, tag: next)
                    open[next] = entry
                    next += 1
                } catch {
                    end(entry, .notWritten(error))
                }
            }
            if open.isEmpty, entries.isEmpty {
                if isClosing { return }
                _ = came.wait(timeout: .now() + Self.idle)
            }
            // As long as records linger: what comes meanwhile goes with the next ones.
            producer.poll(timeout: open.isEmpty ? .zero : .milliseconds(1))
            var errors = producer.takeErrors()
            for report in producer.takeReports() {
                guard let entry = open.removeValue(forKey: report.tag) else { continue }
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

    private func take() -> (entries: [Entry], isClosing: Bool) {
        mailbox.withLock { mailbox in
            defer { mailbox.entries.removeAll(keepingCapacity: true) }
            return (mailbox.entries, mailbox.isClosing)
        }
    }

    /// Nobody writes any more.
    private func leave(_ open: [UInt64: Entry]) {
        mailbox.withLock { $0.isOpen = false }
        for entry in take().entries { end(entry, .notWritten(.writerEnded)) }
        for entry in open.values { end(entry, .unknown(.writerEnded)) }
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
    fileprivate static let writerEnded = KafkaError(
        kind: .state, recovery: .giveUp, name: "", message: "the writer has ended", operation: "produce")
}
