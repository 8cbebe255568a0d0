import Notifications
import Testing

@testable import Broadcasts

@Suite("A pass of a broadcast over the devices of a partition")
struct PassTests {
    private let devices = TestDevice.inOrder(6)
    private var hashes: [String] { devices.map(\.hash) }

    /// Six devices of a channel, and a broadcast to it.
    private func trial(_ trial: CoreTrial = CoreTrial()) throws -> CoreTrial {
        trial.join(devices.reversed())
        try trial.own()
        trial.publish("1")
        return trial
    }

    @Test("every device of the audience gets it once, in the order of the hashes")
    func order() throws {
        let trial = try trial()
        trial.join([TestDevice(100)], "channel/b")
        let result = try trial.transact()
        #expect(result.devices(0) == hashes)
        #expect(result.offsets[1]?.broadcast == 1 && result.offsets[1]?.pass == nil)
        #expect(try trial.transact().pushes.isEmpty)
    }

    @Test("a push has the token, the message id of the broadcast, and its place in the log")
    func push() throws {
        let trial = try trial()
        trial.publish("2")
        trial.see()
        try trial.send()
        #expect(trial.sink.values[0].contains(devices[0].token))
        #expect(trial.sink.pushes.map(\.broadcast) == [Int64](repeating: 0, count: 6) + [Int64](repeating: 1, count: 6))
        #expect(Set(trial.sink.messageIDs.prefix(6)).count == 1 && Set(trial.sink.messageIDs).count == 2)
    }

    @Test("a slice ends with the budget, and the next one continues after its last device")
    func slices() throws {
        let trial = try trial()
        #expect(try trial.transact(budget: 4).devices(0) == Array(hashes[..<4]))
        #expect(trial.committed(1)?.pass == .init(joinedBelow: 6, key: devices[3].hashBytes))
        #expect(trial.isBusy(1))
        #expect(try trial.transact(budget: 1).devices(0) == [hashes[4]])
        #expect(try trial.transact(budget: 1).devices(0) == [hashes[5]])
        // Nobody is left: the pass ends with the next look.
        #expect(trial.committed(1)?.pass != nil)
        let last = try trial.transact(budget: 1)
        #expect(last.pushes.isEmpty && last.offsets[1]?.pass == nil && last.offsets[1]?.broadcast == 1)
        #expect(!trial.isBusy(1))
    }

    @Test(
        "the oldest broadcast waits from when it was published until its pass has ended, and one that has none waits too"
    )
    func oldestWaiting() throws {
        let trial = try trial()
        trial.clock += 60_000
        trial.publish("2")
        trial.see()
        #expect(trial.core.oldestWaiting == CoreTrial.start)
        _ = try trial.transact(budget: 7)
        #expect(trial.core.oldestWaiting == CoreTrial.start + 60_000)
        _ = try trial.transact()
        #expect(trial.core.oldestWaiting == nil)
    }

    @Test("without a budget nothing begins")
    func noBudget() throws {
        let trial = try trial()
        #expect(try trial.transact(budget: 0).offsets.isEmpty)
    }

    @Test("a pass continues from what is committed, in another process")
    func continues() throws {
        let trial = CoreTrial()
        trial.join(devices)
        try trial.own(pass: .init(joinedBelow: 6, key: devices[3].hashBytes))
        trial.publish("1")
        #expect(try trial.transact().devices(0) == Array(hashes[4...]))
    }

    @Test("it sends to who joined below the offset where it began, and not at it or later")
    func joinedBelow() throws {
        let trial = CoreTrial()
        trial.join(devices)
        try trial.own(pass: .init(joinedBelow: 3, key: nil))
        trial.publish("1")
        #expect(try trial.transact().devices(0) == Array(hashes[..<3]))
    }

    @Test("who joined in the transaction before is a device of the pass, though the store does not have it yet")
    func pendingWhenItBegins() throws {
        let trial = CoreTrial()
        try trial.own()
        trial.join(devices)
        try trial.transact()
        trial.publish("1")
        #expect(try trial.transact().devices(0) == hashes)
    }

    @Test("the store has no more than what is committed when a pass begins")
    func flushesWhatIsCommitted() throws {
        let trial = CoreTrial()
        try trial.own()
        trial.join([devices[0]])
        try trial.transact()
        trial.publish("1")
        trial.see()
        try trial.send()
        trial.join([devices[1]])
        try trial.take()
        let reader = try #require(trial.stores[1]).makeReader()
        try reader.begin()
        #expect(try reader.checkpoint().flatMap(ChannelCheckpoint.read)?.checkpoint.offset == 1)
        #expect(try reader.count() == 1)
    }

    @Test("who leaves before it is reached gets nothing, who leaves and returns is not reached again")
    func leavesMeanwhile() throws {
        let trial = try trial()
        try trial.transact(budget: 1)
        trial.leave([devices[2], devices[3]])
        trial.join([devices[3]])
        // The return is a joiner's.
        #expect(try trial.transact(budget: 1).pushes.map(\.device) == [hashes[1], hashes[3]])
        #expect(try trial.transact().devices(0) == Array(hashes[4...]))
    }

    @Test("who was last seen too long before its publication gets nothing, and costs nothing of the budget")
    func stale() throws {
        let trial = CoreTrial(maxAge: 1_000)
        trial.join(Array(devices[..<3]), seen: CoreTrial.start - 1_001)
        trial.join([devices[3]], seen: CoreTrial.start - 1_000)
        trial.join([devices[4]], seen: nil)
        try trial.own()
        trial.publish("1")
        let result = try trial.transact(budget: 2)
        #expect(result.devices(0) == Array(hashes[3..<5]))
        #expect(result.entry?.passes.map(\.stale) == [3])
    }

    @Test("a broadcast that has expired is skipped")
    func expired() throws {
        let trial = try trial()
        trial.clock += 3_600_000
        let result = try trial.transact()
        #expect(result.pushes.isEmpty && result.offsets[1]?.broadcast == 1)
        #expect(
            result.entry?.skipped == [.init(partition: 1, broadcast: 0, notificationID: "1", reason: .expired)])
        #expect(result.entry?.passes.isEmpty == true)
    }

    @Test("a moment before it expires a broadcast is sent")
    func almostExpired() throws {
        let trial = try trial()
        trial.clock += 3_599_999
        #expect(try trial.transact().devices(0) == hashes)
    }

    @Test(
        "a broadcast that was cancelled or replaced before its pass is passed over in silence",
        arguments: [true, false])
    func goneBefore(isCancelled: Bool) throws {
        let trial = try trial()
        if isCancelled { trial.cancel("1") } else { trial.publish("1") }
        trial.publish("2")
        let result = try trial.transact()
        #expect(result.devices(0).isEmpty && result.devices(2) == hashes)
        #expect(result.devices(1) == (isCancelled ? [] : hashes))
        #expect(result.entry?.skipped.isEmpty == true)
    }

    @Test("in the middle of a pass it ends before the next slice", arguments: ["cancelled", "replaced", "expired"])
    func endsInTheMiddle(how: String) throws {
        let trial = try trial()
        try trial.transact(budget: 2)
        switch how {
        case "cancelled": trial.cancel("1")
        case "replaced": trial.publish("1")
        default: trial.clock += 3_600_000
        }
        let result = try trial.transact()
        #expect(result.devices(0).isEmpty)
        #expect(result.devices(1) == (how == "replaced" ? hashes : []))
        #expect(result.entry?.passes.first?.end == (how == "expired" ? .expired : .cancelled))
        #expect(result.entry?.passes.first?.subject.notificationID == (how == "expired" ? "1" : nil))
        #expect(result.entry?.passes.first?.keyBefore == devices[1].hashBytes)
        #expect(result.offsets[1]?.pass == nil)
    }

    @Test("nothing is sent or given up by who knows less of the broadcasts than the group")
    func behind() throws {
        let trial = CoreTrial()
        trial.join(devices)
        trial.publish("1")
        try trial.own(broadcast: 1, pass: .init(joinedBelow: 6, key: nil))
        trial.see()
        try trial.send()
        #expect(try trial.commit().offsets.isEmpty)
        #expect(!trial.hasRoom)
        trial.publish("2")
        trial.see()
        #expect(trial.hasRoom)
        try trial.send()
        #expect(try trial.commit().devices(1) == hashes)
    }

    @Test("several broadcasts in one transaction keep their order")
    func several() throws {
        let trial = try trial()
        trial.publish("2", to: "channel/empty")
        trial.publish("3")
        let result = try trial.transact(budget: 8)
        #expect(result.pushes.map(\.broadcast) == [0, 0, 0, 0, 0, 0, 2, 2])
        #expect(result.entry?.passes.map(\.subject.broadcast) == [0, 1, 2])
        #expect(result.entry?.passes.map(\.end) == [.done, .done, nil])
        #expect(result.offsets[1]?.broadcast == 2)
        #expect(try trial.transact().devices(2) == Array(hashes[2...]))
    }

    @Test("a channel without devices has a pass without a push")
    func emptyChannel() throws {
        let trial = CoreTrial()
        try trial.own()
        trial.publish("1")
        let slice = try #require(try trial.transact().entry?.passes.first)
        #expect(slice.devices == 0 && slice.sent == 0 && slice.end == .done && slice.joinedBelow == 0)
    }

    @Test("the last possible device of a channel ends the pass")
    func lastPossible() throws {
        let trial = CoreTrial()
        try trial.own(pass: .init(joinedBelow: 0, key: [UInt8](repeating: 0xFF, count: 32)))
        trial.publish("1")
        #expect(try trial.transact().offsets[1]?.broadcast == 1)
    }

    @Test("each partition has its own pass, and they share the budget")
    func partitions() throws {
        let trial = CoreTrial()
        trial.join(Array(devices[..<3]), partition: 0)
        trial.join(Array(devices[3...]), partition: 2)
        try trial.own(0)
        try trial.own(2)
        trial.publish("1")
        #expect(try trial.transact(budget: 4).devices(0) == Array(hashes[..<4]))
        #expect(trial.committed(0)?.pass == nil && trial.committed(2)?.pass?.key == devices[3].hashBytes)
        #expect(trial.owned == [0, 2])
    }

    @Test("more devices than are looked at between two looks at the budget are sent to")
    func many() throws {
        let trial = CoreTrial(mostRecords: 20_000)
        let many = TestDevice.inOrder(5_001)
        trial.join(many)
        try trial.own()
        trial.publish("1")
        #expect(try trial.transact(budget: 20_000).devices(0) == many.map(\.hash))
    }
}
