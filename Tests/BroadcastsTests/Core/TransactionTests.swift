import Notifications
import StateStore
import Testing

@testable import Broadcasts

@Suite("A transaction of broadcasts")
struct TransactionTests {
    private let devices = TestDevice.inOrder(6)
    private var hashes: [String] { devices.map(\.hash) }

    @Test("the journal has the ranges, the passes with their keys and counts, the joiners and the view")
    func journal() throws {
        let trial = CoreTrial()
        trial.join(Array(devices[..<4]))
        try trial.own()
        try trial.own(2)
        trial.publish("a")
        trial.publish("b")
        try trial.transact(budget: 3)
        trial.join([devices[5]])
        trial.join([devices[4]], partition: 2)
        trial.clock += 5
        let entry = try #require(try trial.transact(budget: 3).entry)
        #expect(
            entry.ranges == [
                .init(topic: "subscriptions", partition: 1, from: 4, to: 5),
                .init(topic: "subscriptions", partition: 2, from: 0, to: 1),
            ])
        #expect(entry.broadcasts == 2 && entry.clock == trial.clock)
        #expect(entry.group == "g" && entry.dispatch == "d" && entry.rules == "r")
        let ended = try #require(entry.passes.first)
        #expect(ended.subject.partition == 1 && ended.subject.broadcast == 0 && ended.subject.notificationID == "a")
        #expect(ended.subject.messageID?.hasPrefix("msg-") == true)
        #expect(ended.joinedBelow == 4 && ended.keyBefore == devices[2].hashBytes && ended.keyAfter == nil)
        #expect(ended.devices == nil && ended.sent == 1 && ended.stale == 0 && ended.end == .done)
        let begun = entry.passes[1]
        #expect(begun.subject.broadcast == 1 && begun.keyBefore == nil && begun.keyAfter == devices[1].hashBytes)
        #expect(begun.devices == 4 && begun.sent == 2 && begun.end == nil)
        #expect(entry.late.map(\.subject.broadcast) == [0, 1] && entry.late.map(\.sent) == [1, 1])
        #expect(entry.skipped.isEmpty)
    }

    @Test("a pass that began has the number of devices that joined before, of its channel alone")
    func devicesOfAPass() throws {
        let trial = CoreTrial()
        trial.join(Array(devices[..<3]))
        trial.leave([devices[1]])
        trial.join([devices[4]], "channel/b")
        try trial.own()
        trial.publish("a")
        let entry = try trial.transact(budget: 1).entry
        #expect(entry?.passes.map(\.devices) == [2])
        #expect(try trial.transact().entry?.passes.map(\.devices) == [nil])
    }

    @Test("two slices of a pass in one transaction are one in the journal, without a key once it has ended")
    func twoSlicesInOne() throws {
        let trial = CoreTrial()
        trial.join(devices)
        try trial.own()
        trial.publish("a")
        trial.see()
        try trial.send(budget: 2)
        try trial.send(budget: 2)
        #expect(trial.open.passes.map(\.sent) == [4])
        try trial.send()
        let entry = try trial.commit().entry
        #expect(entry?.passes.map(\.sent) == [6] && entry?.passes.first?.end == .done)
        #expect(entry?.passes.first?.keyAfter == nil && entry?.passes.first?.devices == 6)
    }

    @Test("what is committed is where the partition is, and the time of the transaction")
    func offsets() throws {
        let trial = CoreTrial()
        try trial.own()
        trial.join(devices)
        trial.clock += 7
        let offset = try trial.transact().offsets[1]
        #expect(offset == BroadcastOffset(offset: 6, partitions: 4, time: CoreTrial.start + 7, broadcast: 0))
        #expect(trial.committed(1) == offset)
    }

    @Test("only partitions that have moved are committed, and those whose offset is old")
    func oldOffsets() throws {
        let trial = CoreTrial()
        try trial.own(1)
        try trial.own(2)
        trial.clock += 3_600_000
        trial.join([devices[0]])
        #expect(try trial.transact().offsets.keys.sorted() == [1])
        trial.clock += 1
        let result = try trial.transact()
        #expect(result.offsets.keys.sorted() == [2] && result.offsets[2]?.time == trial.clock)
        #expect(result.entry?.ranges.map(\.to) == [0])
        #expect(try trial.transact().offsets.isEmpty)
    }

    @Test("of an aborted transaction nothing counts: passes, joiners and devices are as they were")
    func aborted() throws {
        let trial = CoreTrial()
        trial.join(Array(devices[..<3]))
        try trial.own()
        trial.publish("1")
        trial.see()
        try trial.send(budget: 2)
        trial.join([devices[4]])
        trial.leave([devices[0]])
        try trial.take()
        #expect(trial.open.hasWork && trial.open.planned == 1)
        trial.abort()
        #expect(!trial.open.hasWork && trial.open.sent == 0 && trial.open.taken == 0)
        #expect(trial.position(1) == 3 && trial.committed(1)?.pass == nil)
        let result = try trial.transact()
        #expect(result.pushes.map(\.device) == Array(hashes[..<3]) + [hashes[4]])
        #expect(result.entry?.late.map(\.sent) == [1])
        #expect(result.offsets[1]?.offset == 5)
    }

    @Test("after an abort joiners of the aborted transaction do not get anything a second time")
    func abortedJoiners() throws {
        let trial = CoreTrial()
        trial.publish("1")
        try trial.own(broadcast: 1)
        trial.join([devices[0]])
        trial.see()
        try trial.take()
        try trial.core.sendLate(into: &trial.sink)
        #expect(trial.sink.pushes.count == 1)
        trial.abort()
        #expect(try trial.transact().pushes.count == 1)
        #expect(try trial.transact().pushes.isEmpty)
    }

    @Test("a push that cannot be written leaves nothing behind once the transaction is aborted", arguments: 0..<4)
    func failure(pushes: Int) throws {
        let trial = CoreTrial()
        trial.join(Array(devices[..<3]))
        try trial.own()
        trial.publish("1")
        trial.see()
        trial.sink.failsAfter = pushes
        #expect(throws: RecordedPushes.Failure.self) {
            try trial.send()
            trial.join([devices[4]])
            try trial.take()
            _ = try trial.commit()
        }
        trial.abort()
        if pushes < 3 { trial.join([devices[4]]) }
        #expect(try trial.transact().pushes.map(\.device) == Array(hashes[..<3]) + [hashes[4]])
    }

    @Test("the store is never ahead of the group, whatever is aborted")
    func neverAhead() throws {
        let trial = CoreTrial()
        try trial.own()
        trial.join([devices[0]])
        try trial.transact()
        trial.join([devices[1]])
        trial.publish("1")
        trial.see()
        try trial.send()
        try trial.take()
        trial.abort()
        let reader = try #require(trial.stores[1]).makeReader()
        try reader.begin()
        #expect(try reader.checkpoint().flatMap(ChannelCheckpoint.read)?.checkpoint.offset == 1)
        #expect(try reader.count() == 1)
    }

    @Test("a partition that is given up takes its table with it")
    func remove() throws {
        let trial = CoreTrial()
        try trial.own()
        #expect(trial.remove(1) != nil && trial.owned.isEmpty)
        #expect(trial.remove(1) == nil && !trial.isBusy(1) && trial.committed(1) == nil)
        try trial.send()
    }
}
