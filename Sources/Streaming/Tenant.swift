import Hosting
import KafkaClient

/// What the broker says of partitions that a worker was given.
package struct Findings: Sendable {
    package var partitions: [TopicPartition]
    /// Without those that the group has no offset of.
    package var committed: [TopicPartition: CommittedOffset]
    /// The high watermarks, asked for after the committed offsets were answered; only with ``Contract/settledInputs``.
    package var highs: [TopicPartition: Offset] = [:]
    package var starts: [TopicPartition: Offset]
    package var ends: [TopicPartition: Offset]
    /// By input.
    package var partitionCounts: [String: Int32]
}

/// Where the partitions begin.
package enum Locating: Sendable {
    /// By partition: where it is read from, and which of its records are to be restored first. `beside` has what is to be
    /// restored of other topics.
    case starts([TopicPartition: Start], beside: [TopicPartition: Range<Int64>] = [:])
    /// To be asked again in a moment.
    case later
}

package struct Start: Sendable {
    package var offset: Offset
    package var restores: Range<Int64>

    /// - Parameter restores: empty or the wrong way around where there is nothing.
    package init(_ offset: Offset, restores from: Int64, upTo end: Int64) {
        self.offset = offset
        restores = from..<max(from, end)
    }
}

/// When a transaction began. Its clock is that of everything in it.
package struct TransactionTime: Equatable, Sendable {
    package var clock: WallTime
    package var began: ContinuousClock.Instant

    package init(clock: WallTime, began: ContinuousClock.Instant) {
        self.clock = clock
        self.began = began
    }
}

/// What a ``StreamWorker`` does with the records of its partitions. One owner: the worker's thread.
///
///     locate ─► restore ─► (act ─► take ─► finish ─► committed or aborted)* ─► release
///
/// It never sees a rebalance, a producer that is replaced, or an error of Kafka's. What it throws aborts the transaction:
/// errors of Kafka's and of its stores are recovered from, a ``PipelineError`` ends the role.
package protocol Tenant: SendableMetatype, ~Copyable {
    // MARK: Where

    /// Takes what it has to know beside its records, where nothing is open.
    ///
    /// - Returns: whether that is fresh enough to work.
    mutating func refresh(isIdle: Bool) throws -> Bool
    /// The partitions are its own: it says where they begin, and opens what it keeps of them.
    ///
    /// - Parameters:
    ///   - found: takes what it commits in here.
    ///   - member: for what else it asks and commits.
    mutating func locate(_ found: inout Findings, _ member: inout any MemberClient & ~Copyable) throws -> Locating
    /// Takes records from below the committed offsets, and some from above, which it ignores.
    mutating func restore(_ batch: borrowing RecordBatch) throws
    /// Everything below the committed offsets was restored.
    mutating func restored() throws
    /// The next offset to read, also after an abort; nil: nothing of the partition is to be read now.
    func position(_ partition: TopicPartition) -> Int64?
    /// From where on records of the partition count as its lag; nil: the partition is not its own.
    func unfinished(_ partition: TopicPartition) -> Int64?
    /// Begins to give up all partitions: nothing more is read.
    ///
    /// - Parameter isLast: whether the worker ends.
    /// - Returns: how long at most what is still to be committed may take, until ``hasLetGo``; nil: nothing is.
    mutating func letGo(isLast: Bool) -> Duration?
    var hasLetGo: Bool { get }
    /// What was read and not committed comes again, or is another worker's: nothing is open. Before ``release(_:)``, too.
    mutating func forgetRecords()
    /// Gives up all partitions: nothing is open. What it keeps of them may be stored.
    mutating func release(_ reason: Release)
    /// Ends what it has beside its partitions.
    func close()

    // MARK: A transaction

    /// From where on it wants to look at records that are not taken yet.
    var looksAheadFrom: [TopicPartition: Offset] { get }
    mutating func look(ahead batch: borrowing RecordBatch) throws
    /// Everything below these ends was looked at.
    ///
    /// - Returns: whether that is still true enough to take records.
    mutating func looked(ahead ends: [TopicPartition: Offset], askedAt: ContinuousClock.Instant) -> Bool
    /// The partitions whose ends it wants to know now.
    mutating func endsToAsk(_ now: WallTime) -> [TopicPartition]
    /// - Parameter time: that at which it wanted to know them.
    mutating func found(ends: [TopicPartition: Offset], at time: WallTime)
    /// Whether it wants to know the broker's time now, although nothing else does.
    mutating func asksForTime(_ now: ContinuousClock.Instant) -> Bool
    /// - Parameters:
    ///   - brokerTime: nil where the broker does not tell.
    ///   - clock: the worker's before it asked.
    mutating func heard(_ brokerTime: WallTime?, at clock: WallTime)
    /// Takes what has come from elsewhere than Kafka. In each round, whatever else happens.
    ///
    /// - Parameter isClockRight: whether the clock may say what is over.
    mutating func hear(_ now: WallTime, isClockRight: Bool)
    /// Does what does not wait for records, before any of the transaction is taken.
    ///
    /// - Returns: whether there is something to commit.
    mutating func act(_ time: TransactionTime) throws -> Bool
    /// Whether records of this input may be taken now. Those of the others wait in Kafka.
    func wants(_ input: Int) -> Bool
    /// The worker begins to wait for records, or has them already.
    mutating func willRead()
    /// The wait is over.
    mutating func didRead(_ bytes: Int)
    /// Takes records, as many as the transaction has room for.
    ///
    /// - Parameter input: the index of their topic in ``Contract/inputs``.
    /// - Returns: the first that it did not take.
    mutating func take(
        _ batch: borrowing RecordBatch, from first: Int, of input: Int, _ time: TransactionTime
    ) throws -> Int
    /// An input was asked for records.
    ///
    /// - Parameter appended: when the first one was, or the epoch where that is not known; nil: there was none.
    mutating func asked(_ input: Int, appended: WallTime?)
    /// Does what follows from the records that were taken. Only of a tenant that keeps what it knows.
    mutating func tick(_ time: TransactionTime) throws
    /// Where partitions are to be read again.
    mutating func takeBack() -> [TopicPartition: Offset]
    /// Everything of the partition below this offset was read.
    mutating func reached(_ offset: Int64, of partition: TopicPartition)
    /// Whether to commit now, and not only after ``Contract/commitInterval``.
    ///
    /// - Parameter isOpen: whether a transaction is.
    func mustCommit(isOpen: Bool) -> Bool
    /// Writes the end of the transaction, and says what it commits; nil: nothing, and nothing was written.
    mutating func finish(_ time: TransactionTime) throws -> [TopicPartition: CommittedOffset]?
    mutating func committed()
    /// Nothing of the open transaction counts. Each ``finish(_:)`` is followed by this or by ``committed()``.
    mutating func aborted()
    /// A record of the transaction, which is still to be ended, is refused, and always would be.
    ///
    /// - Throws: where another attempt would not write something else.
    mutating func refused(_ refusal: Remedy.Refusal) throws(PipelineError)
    /// The transaction, which is still to be ended, was open for so long that the broker aborts it.
    mutating func outlasted()

    // MARK: Beside transactions

    /// Stores what has come together.
    ///
    /// - Returns: false if its partitions have to be located again.
    mutating func tend() throws -> Bool
    /// An error of its own: logs it where a line is due.
    ///
    /// - Returns: whether its partitions have to be located again; otherwise they are read from where it is.
    /// - Throws: ``PipelineError`` where another attempt does not help.
    func consider(_ error: any Error) throws(PipelineError) -> Bool
    /// What ends the role where the log no longer has the next offset; nil: the partitions are located again.
    func overtaken(_ error: KafkaError) -> PipelineError?
    /// A record that says nothing, and where it is written, to learn the broker's time.
    func clockRecord() throws -> (record: ProducerRecord, output: Int)
    /// How long there is nothing to do without new records.
    var patience: Duration { get }
    /// The member's settings from now on: one is made.
    mutating func memberSettings(_ usual: Settings) -> Settings
    /// A client was replaced.
    mutating func replacedClient()
    /// - Parameter lag: records that are not read yet; nil until the first measurement.
    mutating func report(_ state: WorkerState, lag: [TopicPartition: Int]?)
    /// - Parameter hung: what a transaction upstream has kept from being read for a minute or more.
    mutating func measured(lag: [TopicPartition: Int], hung: Set<TopicPartition>)
}

package enum Release: Sendable {
    /// They are another worker's.
    case toOthers
    /// They are located again.
    case toItself
}

/// What a worker does.
package enum WorkerState: Sendable {
    /// The group has assigned nothing.
    case joining
    /// It finds out where its partitions are, or has no producer.
    case locating
    case reading
}

extension Tenant where Self: ~Copyable {
    package mutating func refresh(isIdle: Bool) -> Bool { true }
    package func unfinished(_ partition: TopicPartition) -> Int64? { position(partition) }
    package mutating func letGo(isLast: Bool) -> Duration? { nil }
    package var hasLetGo: Bool { true }
    package mutating func forgetRecords() {}
    package func close() {}
    package var looksAheadFrom: [TopicPartition: Offset] { [:] }
    package mutating func look(ahead batch: borrowing RecordBatch) {}
    package mutating func looked(ahead ends: [TopicPartition: Offset], askedAt: ContinuousClock.Instant) -> Bool {
        true
    }
    package mutating func endsToAsk(_ now: WallTime) -> [TopicPartition] { [] }
    package mutating func found(ends: [TopicPartition: Offset], at time: WallTime) {}
    package mutating func asksForTime(_ now: ContinuousClock.Instant) -> Bool { false }
    package mutating func heard(_ brokerTime: WallTime?, at clock: WallTime) {}
    package mutating func hear(_ now: WallTime, isClockRight: Bool) {}
    package func wants(_ input: Int) -> Bool { true }
    package mutating func willRead() {}
    package mutating func didRead(_ bytes: Int) {}
    package mutating func asked(_ input: Int, appended: WallTime?) {}
    package mutating func tick(_ time: TransactionTime) {}
    package mutating func takeBack() -> [TopicPartition: Offset] { [:] }
    package mutating func refused(_ refusal: Remedy.Refusal) throws(PipelineError) { throw .refused(refusal) }
    package mutating func outlasted() {}
    package mutating func tend() -> Bool { true }
    package func consider(_ error: any Error) throws(PipelineError) -> Bool { throw .defect("\(error)") }
    package mutating func memberSettings(_ usual: Settings) -> Settings { usual }
    package mutating func replacedClient() {}
    package mutating func measured(lag: [TopicPartition: Int], hung: Set<TopicPartition>) {}
}

extension PipelineError {
    /// A record that a tenant cannot write in another way.
    package static func refused(_ refusal: Remedy.Refusal) -> PipelineError {
        .unplaceableRecord("the broker permanently refuses a record: \(refusal.error)")
    }
}

/// A transaction of which it is unknown whether it was committed.
struct UnknownEnd {
    enum Outcome { case committed, aborted, neither }

    /// What it was to commit.
    let sent: [TopicPartition: CommittedOffset]
    /// What the group had before.
    let before: [TopicPartition: CommittedOffset]

    /// - Parameter found: what the group has.
    func outcome(_ found: [TopicPartition: CommittedOffset]) -> Outcome {
        if sent.keys.allSatisfy({ found[$0] == before[$0] }) { return .aborted }
        return sent.allSatisfy { found[$0.key] == $0.value } ? .committed : .neither
    }
}
