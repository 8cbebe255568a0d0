import Foundation
import HTTPServer
import Hosting
import KafkaClient
import Pipeline
import Replay
import Synchronization

/// Reads of topics that requests ask for: few at a time, since each has clients and a thread of its own. Any thread.
package final class TopicReads: Sendable {
    package static let most = 4
    /// How long a client waits for what has to be read.
    package static let longest = Duration.seconds(30)
    /// Of each question to a broker.
    package static let timeout = Duration.seconds(5)
    /// That one answer is behind, over all topics.
    package static let mostRecords = 100_000
    package static let mostBytes = 256 << 20

    /// One of the reads, while it runs. It is asked often: ``isStopped`` ends it.
    package struct Turn: Sendable {
        private let end: ContinuousClock.Instant
        private let reads: TopicReads

        fileprivate init(_ reads: TopicReads, within time: Duration) {
            (self.reads, end) = (reads, .now + time)
        }

        /// Whether nobody waits for it any more.
        package var isStopped: Bool { .now >= end || reads.state.withLock { $0.isEnding } }
    }

    private struct State {
        var running = 0
        var isLarge = false
        var isEnding = false
    }

    private let logger: Logger
    private let explained: @Sendable (KafkaError) -> KafkaError
    private let state = Mutex(State())

    /// - Parameter explained: an error with what a person can do about it.
    package init(logger: Logger, explained: @escaping @Sendable (KafkaError) -> KafkaError = { $0 }) {
        self.logger = logger
        self.explained = explained
    }

    /// Ends what is still being read.
    package func end() { state.withLock { $0.isEnding = true } }

    package var isIdle: Bool { state.withLock { $0.running == 0 } }

    /// Reads on a thread of its own.
    ///
    /// - Returns: false if too many others read: `read` is not called then.
    package func begin(within time: Duration = longest, _ read: @escaping @Sendable (Turn) -> Void) -> Bool {
        guard take() else { return false }
        run(within: time, read)
        return true
    }

    /// Answers a request with what is read.
    ///
    /// - Parameter read: may throw a ``Problem``, which is the answer; of anything else the client hears that it was not read,
    ///   and the log why.
    package func reply(
        to call: Call, _ read: @escaping @Sendable (Turn) throws -> HTTPResponse
    ) throws(Problem) -> Endpoint.Reply {
        try reply(to: call, within: Self.longest, otherwise: Self.late) { turn, respond in respond(try read(turn)) }
    }

    /// The same where what is read does not answer yet.
    ///
    /// - Parameters:
    ///   - time: until the answer, for which reading has ``longest``.
    ///   - read: answers, or has somebody answer later, unless it throws.
    package func reply(
        to call: Call, within time: Duration, otherwise: Problem,
        _ read: @escaping @Sendable (Turn, @escaping @Sendable (HTTPResponse) -> Void) throws -> Void
    ) throws(Problem) -> Endpoint.Reply {
        guard take() else { throw Self.overloaded }
        return .later(within: time, otherwise: otherwise) { respond in
            self.run(within: Self.longest) { turn in
                do {
                    try read(turn, respond)
                } catch {
                    respond(call.response(to: self.problem(error, of: call)))
                }
            }
        }
    }

    /// Does what takes much memory, for one read at a time.
    ///
    /// - Throws: a ``Problem`` while it is done for another one; what `body` throws.
    package func large<Value>(_ body: () throws -> Value) throws -> Value {
        let isFirst = state.withLock { state in
            defer { state.isLarge = true }
            return !state.isLarge
        }
        guard isFirst else { throw Problem(.overloaded, "devices are being counted for another request") }
        defer { state.withLock { $0.isLarge = false } }
        return try body()
    }

    /// What is read; nil where it cannot be, and then the log says why.
    package func value<Value>(for call: Call, _ read: () throws -> Value) -> Value? {
        do {
            return try read()
        } catch {
            _ = problem(error, of: call)
            return nil
        }
    }

    package static let overloaded = Problem(
        .overloaded, "topics are being read for \(most) other requests; that is as many as are read at a time")

    private static let late = Problem(
        .notYet, "what was asked for was not read within \(longest.components.seconds) s")

    private func take() -> Bool {
        state.withLock { state in
            guard state.running < Self.most, !state.isEnding else { return false }
            state.running += 1
            return true
        }
    }

    /// Runs what has taken its turn.
    private func run(within time: Duration, _ read: @escaping @Sendable (Turn) -> Void) {
        Thread.start("carillon-read") {
            read(Turn(self, within: time))
            self.state.withLock { $0.running -= 1 }
        }
    }

    private func problem(_ error: any Error, of call: Call) -> Problem {
        switch error {
        case let problem as Problem: return problem
        case is ReadingStopped, is ReplayStopped: return Self.late
        case is TooMuchToRead:
            return Problem(
                .incomplete,
                "the answer is behind more than is read for one; allowed are \(Self.mostRecords) records and "
                    + "\(Self.mostBytes >> 20) MiB")
        case let refusal as ReplayRefusal: return Problem(.incomplete, refusal.description)
        case let error as KafkaError where error.kind == .unknownTopicOrPartition && !error.topics.isEmpty:
            let names = error.topics.joined(separator: ", ")
            return Problem(.incomplete, "there is no topic \(names), which would have it")
        case let error as KafkaError: return unread("\(explained(error))", call)
        default: return unread("\(error)", call)
        }
    }

    private func unread(_ reason: String, _ call: Call) -> Problem {
        logger.warning("topics could not be read: \(reason)", ["request": call.id])
        return Problem(.notYet, "the topics cannot be read now; the log of the process says why")
    }
}
