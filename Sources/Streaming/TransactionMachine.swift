import Hosting
import KafkaClient

/// The transactions of a worker, one after the other; `Content` is what it remembers of the open one.
///
///     idle ── begun ──► open ── commit ──► committing ── committed ──► idle
///      ▲                 │                     │
///      └── dropped, failed ───────────────────┘
///
/// It calls nothing and reads no clock: an input says what happened or what is wanted, and returns what the worker has
/// to do. One that does not fit the phase is a defect of this program; it changes nothing. A producer that was fenced
/// or has failed is no phase: its next call fails, and ``failed(_:)`` decides again.
package struct TransactionMachine<Content> {
    package enum Phase {
        case idle
        /// Records may be written.
        case open(Content)
        /// Nothing more may be written. From now on an error does not say whether the broker has committed.
        case committing(Content)
    }

    package private(set) var phase = Phase.idle

    package init() {}

    // MARK: Begin

    package enum BeginAction: Equatable {
        /// One is open.
        case nothing
        case begin
        /// A copy of a request of the last transaction may still be in flight: begin with a new producer (ADR 22).
        case replaceProducerAndBegin
    }

    /// Something is to be written.
    package func begin(hasRepeatedRequests: Bool) throws(PipelineError) -> BeginAction {
        switch phase {
        case .idle: return hasRepeatedRequests ? .replaceProducerAndBegin : .begin
        case .open: return .nothing
        case .committing: throw misfit("a transaction was to begin")
        }
    }

    package mutating func begun(_ content: Content) throws(PipelineError) {
        guard case .idle = phase else { throw misfit("a transaction began") }
        phase = .open(content)
    }

    // MARK: What is in it

    /// The open transaction; nil while there is none, or it is being committed.
    package var open: Content? {
        switch phase {
        case .open(let content): content
        case .idle, .committing: nil
        }
    }

    /// The transaction that is open or being committed.
    package var unended: Content? {
        switch phase {
        case .idle: nil
        case .open(let content), .committing(let content): content
        }
    }

    /// Whether no transaction is open or being committed.
    package var isIdle: Bool {
        switch phase {
        case .idle: true
        case .open, .committing: false
        }
    }

    // MARK: Its end

    /// The open transaction is to be committed.
    ///
    /// - Returns: what is committed now: write the journal, send the offsets, commit. Nil where nothing is open; or a
    ///   commit has failed, and its transaction is still to be ended: the group can revoke the partitions before that, and
    ///   a second attempt would write the journal twice.
    package mutating func commit() -> Content? {
        switch phase {
        case .idle, .committing: return nil
        case .open(let content):
            phase = .committing(content)
            return content
        }
    }

    /// The broker has committed.
    ///
    /// - Returns: what.
    package mutating func committed() throws(PipelineError) -> Content {
        guard case .committing(let content) = phase else { throw misfit("a transaction was committed") }
        phase = .idle
        return content
    }

    /// Nothing was processed in the open transaction, so there is nothing to forget: it is aborted, or was not begun at the
    /// broker.
    package mutating func unused() throws(PipelineError) {
        guard case .open = phase else { throw misfit("a transaction was not used") }
        phase = .idle
    }

    package enum EndAction: Equatable {
        case nothing
        /// Forget what was processed in it, and abort.
        case abort
        case replaceProducer(after: KafkaError)
        /// The same, after what was processed is forgotten: a delayed EndTxn may complete a later transaction of this
        /// producer (docs/kafka.md 4).
        case forgetAndReplaceProducer(after: KafkaError)
    }

    /// The open transaction, if there is one, is to have no effect.
    package mutating func dropped() -> EndAction {
        let wasIdle = isIdle
        phase = .idle
        return wasIdle ? .nothing : .abort
    }

    /// The same, because of an error of the producer or of anything else in the worker.
    package mutating func failed(_ error: KafkaError) -> EndAction {
        guard error.client == .producer else { return dropped() }
        switch error.recovery {
        case .abortTransaction, .giveUp:
            return dropped()
        case .retry, .recreateClient:
            let wasIdle = isIdle
            phase = .idle
            return wasIdle ? .replaceProducer(after: error) : .forgetAndReplaceProducer(after: error)
        }
    }

    private func misfit(_ input: String) -> PipelineError {
        .misfit(input, while: "a transaction was \(phase.name)")
    }
}

extension TransactionMachine.Phase {
    fileprivate var name: String {
        switch self {
        case .idle: "not open"
        case .open: "open"
        case .committing: "being committed"
        }
    }
}
