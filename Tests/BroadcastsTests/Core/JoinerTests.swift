import Notifications
import Testing

@testable import Broadcasts

@Suite("Devices that join after a broadcast has begun")
struct JoinerTests {
    private let devices = TestDevice.inOrder(6)

    /// 32 bytes.
    private static func hash(_ number: Int) -> [UInt8] {
        withUnsafeBytes(of: (number.bigEndian, 0, 0, 0)) { Array($0) }
    }

    /// A partition whose next broadcast is the one after those of the topic.
    private func trial(_ broadcasts: Int, _ trial: CoreTrial = CoreTrial()) throws -> CoreTrial {
        for number in 0..<broadcasts { trial.publish("\(number)") }
        try trial.own(broadcast: Int64(broadcasts))
        return trial
    }

    private func offsets(_ result: CoreTrial.Result, of device: TestDevice) -> [Int64] {
        result.pushes.filter { $0.device == device.hash }.map(\.broadcast)
    }

    @Test("a joiner gets every valid broadcast of its channel that the partition has passed, in the order of the log")
    func below() throws {
        let trial = try trial(3)
        trial.publish("other", to: "channel/b")
        trial.join([devices[0]])
        #expect(offsets(try trial.transact(), of: devices[0]) == [0, 1, 2])
    }

    @Test("also those from before the group's first start, which no pass has sent")
    func beforeTheFirstStart() throws {
        let trial = CoreTrial()
        trial.publish("1")
        trial.see()
        #expect(trial.firstBroadcast(includesValid: false, clock: trial.clock) == 1)
        try trial.own(broadcast: 1)
        trial.join([devices[0]])
        #expect(offsets(try trial.transact(), of: devices[0]) == [0])
    }

    @Test("a broadcast whose pass is under way is sent to who joins meanwhile, and not by the pass as well")
    func underWay() throws {
        let trial = CoreTrial()
        trial.join(Array(devices[..<3]))
        try trial.own()
        trial.publish("1")
        try trial.transact(budget: 1)
        trial.join([devices[5]])
        #expect(offsets(try trial.transact(budget: 0), of: devices[5]) == [0])
        #expect(try trial.transact().devices(0) == devices[1..<3].map(\.hash))
    }

    @Test("a joiner at the very offset where the pass began is no device of the pass")
    func atTheFirstOffset() throws {
        let trial = CoreTrial()
        trial.join([devices[0]])
        try trial.own(at: 0)
        trial.publish("1")
        trial.see()
        try trial.send(budget: 0)
        trial.join([devices[1]])
        let result = try trial.transact(budget: 1)
        #expect(result.pushes.map(\.device) == [devices[0].hash, devices[1].hash])
        #expect(try trial.transact().pushes.isEmpty)
    }

    @Test("a broadcast that has not begun is left to its pass")
    func notBegun() throws {
        let trial = CoreTrial()
        try trial.own()
        trial.publish("1")
        trial.join([devices[0]])
        #expect(try trial.transact(budget: 0).pushes.isEmpty)
        #expect(try trial.transact().devices(0) == [devices[0].hash])
        #expect(try trial.transact().pushes.isEmpty)
    }

    @Test("a joiner gets at most the newest ones, of its channel")
    func mostLate() throws {
        let trial = try trial(5, CoreTrial(mostLate: 2))
        trial.join([devices[0]])
        #expect(offsets(try trial.transact(), of: devices[0]) == [3, 4])
        let none = try self.trial(5, CoreTrial(mostLate: 0))
        none.join([devices[0]])
        #expect(try none.transact().pushes.isEmpty)
    }

    @Test("what has expired, was cancelled or replaced, or cannot be read is not among the newest ones")
    func valid() throws {
        let trial = CoreTrial(mostLate: 2)
        trial.publish("valid")
        trial.publish("replaced")
        trial.publish("cancelled")
        trial.publish("expired", lifetime: 10)
        trial.publish("replaced")
        trial.cancel("cancelled")
        trial.publishUnreadable("unreadable")
        trial.clock += 10
        try trial.own(broadcast: 7)
        trial.join([devices[0]])
        #expect(offsets(try trial.transact(), of: devices[0]) == [0, 4])
    }

    @Test("a device that was last seen too long before the publication gets nothing")
    func stale() throws {
        let trial = try trial(1, CoreTrial(maxAge: 1_000))
        trial.join([devices[0]], seen: CoreTrial.start - 1_001)
        trial.join([devices[1]], seen: CoreTrial.start - 1_000)
        let result = try trial.transact()
        #expect(result.pushes.map(\.device) == [devices[1].hash])
        #expect(result.entry?.late.map(\.sent) == [1])
    }

    @Test("who left and came back is a joiner, who is refreshed is none")
    func leftAndCameBack() throws {
        let trial = CoreTrial()
        trial.join(Array(devices[..<2]))
        trial.publish("1")
        try trial.own(broadcast: 1)
        trial.join([devices[0]])
        trial.leave([devices[1]])
        #expect(try trial.transact().pushes.isEmpty)
        trial.join([devices[1]])
        #expect(try trial.transact().pushes.map(\.device) == [devices[1].hash])
    }

    @Test("who joins and leaves in one transaction gets nothing, and who joins again gets everything once")
    func leftInTheTransaction() throws {
        let trial = try trial(1)
        trial.join(Array(devices[..<2]))
        trial.leave(Array(devices[..<2]))
        trial.join([devices[0]])
        let result = try trial.transact()
        #expect(result.pushes.map(\.device) == [devices[0].hash] && result.entry?.late.map(\.sent) == [1])
    }

    @Test("who leaves in a later transaction gets nothing if that was looked at, and the journal says how far")
    func leavesLater() throws {
        let trial = try trial(1)
        trial.join(Array(devices[..<3]))
        trial.leave([devices[0]])
        trial.leave([devices[1]])
        trial.join([devices[0]])
        trial.see()
        try trial.look(to: 4)
        try trial.take(1, 3)
        let first = try trial.commit()
        #expect(first.pushes.map(\.device) == [devices[1].hash, devices[2].hash], "the second's leaving is not known")
        #expect(first.entry?.ranges.map(\.ahead) == [4])
        #expect(first.entry?.late.map(\.sent) == [2] && trial.open.planned == 0)
        let second = try trial.transact()
        #expect(second.pushes.map(\.device) == [devices[0].hash] && second.entry?.ranges.map(\.ahead) == [nil])
    }

    @Test("what was looked at survives an abort, and so many leavers are known at most")
    func looked() throws {
        let trial = try trial(1)
        let many = BroadcastPartition.mostLeavers
        trial.join([devices[0]])
        trial.leave([devices[0]])
        trial.see()
        try trial.look(to: 2)
        try trial.take(1, 1)
        trial.abort()
        #expect(try trial.transact().pushes.isEmpty)
        let partition = try #require(trial.core.partitions[1])
        for number in 0..<many {
            partition.leaves(ChannelKey(ChannelHash(first: 1, second: 1), device: Self.hash(number)), at: 9)
        }
        #expect(trial.ahead(1) == nil, "there is no room, so that nothing more is looked at")
        trial.core.looked(ahead: 100, of: 1)
        #expect(partition.ahead == 2)
    }

    @Test("two broadcasts reach each joiner in the order of the log")
    func orderOfTwo() throws {
        let trial = try trial(2)
        trial.join(Array(devices[..<3]))
        let result = try trial.transact()
        for device in devices[..<3] { #expect(offsets(result, of: device) == [0, 1]) }
        #expect(result.entry?.late.map(\.subject.broadcast) == [0, 1])
        #expect(result.entry?.late.map(\.subject.notificationID) == ["0", "1"])
        #expect(result.entry?.late.map(\.sent) == [3, 3])
    }

    @Test("a transaction takes no further joiners once it has as many records as it may have")
    func room() throws {
        let trial = try trial(2, CoreTrial(mostRecords: 4))
        trial.join(devices)
        trial.see()
        try trial.take(1, 1)
        #expect(trial.hasRoom && trial.open.planned == 2)
        try trial.take(1, 1)
        #expect(!trial.hasRoom && trial.open.taken == 2)
        #expect(try trial.commit().pushes.count == 4)
        #expect(trial.hasRoom)
    }

    @Test("what passes have sent leaves less room for joiners")
    func roomAfterPasses() throws {
        let trial = CoreTrial(mostRecords: 3)
        trial.join(Array(devices[..<3]))
        try trial.own()
        trial.publish("1")
        trial.see()
        try trial.send(budget: 3)
        #expect(!trial.hasRoom)
    }

    @Test("a record that was taken already, or is of a partition of others, changes nothing")
    func takenAlready() throws {
        let trial = try trial(1)
        trial.join([devices[0]])
        trial.see()
        try trial.take()
        trial.core.reached(0, of: 1)
        #expect(trial.position(1) == 1)
        trial.core.reached(5, of: 1)
        #expect(trial.position(1) == 5)
        trial.join([devices[1]])
        try trial.take(1, at: 1)
        try trial.take(1, at: 0)
        #expect(trial.open.taken == 1 && trial.open.planned == 1)
        trial.join([devices[2]], partition: 7)
        try trial.take(7, at: 0)
        #expect(trial.open.taken == 1)
        #expect(trial.position(7) == nil)
    }
}
