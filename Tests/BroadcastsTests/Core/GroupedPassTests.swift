import DispatchRecords
import Testing

@testable import Broadcasts

@Suite("§7.2: passes with dispatch.grouping=audience")
struct GroupedPassTests {
    private let devices = TestDevice.inOrder(6)

    private func trial(_ grouping: DispatchGrouping = .audience) throws -> CoreTrial {
        let trial = CoreTrial(grouping: grouping)
        trial.join(devices)
        try trial.own()
        trial.publish("1")
        return trial
    }

    @Test("a slice is one record, with the channel and the partition as its key")
    func slice() throws {
        let trial = try trial()
        trial.see()
        try trial.send()
        #expect(trial.sink.pushes.map(\.device) == ["\(CoreTrial.channel)/1"])
        #expect(trial.sink.values[0].contains(devices[5].token))
        #expect(trial.open.sent == 6 && trial.open.records == 1)
    }

    @Test("the budget counts pushes, and a slice ends its groups")
    func budget() throws {
        let trial = try trial()
        trial.see()
        try trial.send(budget: 4)
        #expect(trial.open.sent == 4 && trial.open.records == 1 && trial.sink.values.count == 1)
        _ = try trial.commit()
        try trial.send(budget: 4)
        #expect(trial.open.sent == 2 && trial.open.records == 1)
    }

    @Test("joiners of a transaction are grouped by partition")
    func joiners() throws {
        let trial = try trial()
        try trial.own(2, at: 0)
        try trial.transact()
        trial.join([TestDevice(100), TestDevice(101)])
        trial.join([TestDevice(102)], partition: 2)
        let result = try trial.transact()
        #expect(result.pushes.map(\.device) == ["\(CoreTrial.channel)/1", "\(CoreTrial.channel)/2"])
        #expect(result.entry?.late.map(\.sent) == [2, 1])
    }

    @Test("who joins twice in a transaction is in two records: one has a device once")
    func joinsTwice() throws {
        let trial = try trial()
        try trial.transact()
        let (one, other) = (TestDevice(100), TestDevice(101))
        trial.join([one])
        trial.leave([one])
        trial.join([other, one])
        let result = try trial.transact()
        #expect(result.pushes.map(\.device) == ["\(CoreTrial.channel)/1", "\(CoreTrial.channel)/1"])
        for value in trial.sink.values.suffix(2) {
            #expect(value.ranges(of: one.token).count == 1)
        }
        #expect(result.entry?.late.map(\.sent) == [3])
    }

    @Test("what a transaction has written when it fails is forgotten")
    func failure() throws {
        let trial = try trial()
        trial.see()
        trial.sink.failsAfter = 0
        #expect(throws: RecordedPushes.Failure.self) { try trial.send() }
        trial.abort()
        let single = try self.trial(.device)
        #expect(try trial.transact().pushes.count == 1 && single.transact().pushes.count == 6)
    }
}
