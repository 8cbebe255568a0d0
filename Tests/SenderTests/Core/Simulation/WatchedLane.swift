import Hosting
import KafkaClient
import Notifications
import Pipeline
import Streaming

@testable import Sender

/// The lane's tenant, and beside it somebody who looks at its core after each step.
struct WatchedLane: ~Copyable, Tenant {
    private var lane: LaneTenant
    private let watch: LaneWatch

    init(_ lane: consuming LaneTenant, _ watch: LaneWatch) {
        self.lane = lane
        self.watch = watch
        if watch.simulation.size.isFaulty { for stream in self.lane.intake.streams { stream.mostWaiting = 24 } }
    }

    mutating func locate(_ found: inout Findings, _ member: inout any MemberClient & ~Copyable) throws -> Locating {
        let locating = try lane.locate(&found, &member)
        watch.located(found.committed)
        return locating
    }

    mutating func restore(_ batch: borrowing RecordBatch) { lane.restore(batch) }
    mutating func restored() { lane.restored() }
    func position(_ partition: TopicPartition) -> Int64? { lane.position(partition) }
    func unfinished(_ partition: TopicPartition) -> Int64? { lane.unfinished(partition) }
    mutating func letGo(isLast: Bool) -> Duration? { lane.letGo(isLast: isLast) }
    var hasLetGo: Bool { lane.hasLetGo }

    mutating func release(_ reason: Release) {
        watch.released(lane.core)
        lane.release(reason)
    }

    func close() { lane.close() }

    mutating func hear(_ now: WallTime, isClockRight: Bool) {
        lane.hear(now, isClockRight: isClockRight)
        watch.look(lane.core)
    }

    mutating func act(_ time: TransactionTime) throws -> Bool {
        let result = try lane.act(time)
        watch.look(lane.core)
        return result
    }

    func wants(_ input: Int) -> Bool { lane.wants(input) }

    mutating func take(
        _ batch: borrowing RecordBatch, from first: Int, of input: Int, _ time: TransactionTime
    ) -> Int {
        let next = lane.take(batch, from: first, of: input, time)
        watch.look(lane.core)
        return next
    }

    mutating func asked(_ input: Int, appended: WallTime?) { lane.asked(input, appended: appended) }

    mutating func tick(_ time: TransactionTime) {
        let (said, isPaused) = (lane.core.possiblyTwice, lane.core.isPaused)
        let first = lane.core.nextTag
        lane.tick(time)
        watch.look(lane.core)
        watch.sends(lane.core, from: first, saidBefore: said, wasPaused: isPaused)
    }

    mutating func takeBack() -> [TopicPartition: Offset] { lane.takeBack() }
    mutating func reached(_ offset: Int64, of partition: TopicPartition) { lane.reached(offset, of: partition) }
    func mustCommit(isOpen: Bool) -> Bool { lane.mustCommit(isOpen: isOpen) }

    mutating func finish(_ time: TransactionTime) throws -> [TopicPartition: CommittedOffset]? {
        let offsets = try lane.finish(time)
        watch.writing = offsets ?? [:]
        return offsets
    }

    mutating func committed() {
        lane.committed()
        watch.committed()
    }

    mutating func aborted() {
        lane.aborted()
        watch.look(lane.core)
        watch.simulation.happened["aborts", default: 0] += 1
    }

    func overtaken(_ error: KafkaError) -> PipelineError? { lane.overtaken(error) }
    func clockRecord() -> (record: ProducerRecord, output: Int) { lane.clockRecord() }
    var patience: Duration { lane.patience }
    mutating func report(_ state: WorkerState, lag: [TopicPartition: Int]?) { lane.report(state, lag: lag) }
}
