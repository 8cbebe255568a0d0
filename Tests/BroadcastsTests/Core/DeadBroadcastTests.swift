import Notifications
import Testing

@testable import Broadcasts

@Suite("A broadcast that cannot be sent")
struct DeadBroadcastTests {
    private let devices = TestDevice.inOrder(4)

    @Test("it is one dead letter, of the first partition, and every partition passes it")
    func once() throws {
        let trial = CoreTrial()
        for partition: Int32 in 0..<3 { try trial.own(partition) }
        trial.publishUnreadable("1")
        let result = try trial.transact()
        #expect(result.letters.count == 1)
        #expect(result.letters.first?["key"] == "1" && result.letters.first?["x-error-code"] == "bad_request")
        #expect(result.letters.first?["__connect.errors.topic"] == "broadcasts")
        #expect(result.letters.first?["value"]?.contains("other") == true)
        #expect(result.offsets.mapValues(\.broadcast) == [0: 1, 1: 1, 2: 1])
        #expect(result.entry?.skipped.map(\.partition) == [0, 1, 2])
        #expect(result.entry?.skipped.allSatisfy { $0.reason == .deadLetter && $0.broadcast == 0 } == true)
        #expect(try trial.transact().letters.isEmpty)
    }

    @Test("who does not have the first partition writes none")
    func othersWriteNone() throws {
        let trial = CoreTrial()
        try trial.own(1)
        trial.publishUnreadable("1")
        let result = try trial.transact()
        #expect(result.letters.isEmpty && result.offsets[1]?.broadcast == 1)
    }

    @Test("one that is corrected in time is none")
    func corrected() throws {
        let trial = CoreTrial()
        trial.join(devices, partition: 0)
        try trial.own(0)
        trial.publishUnreadable("1")
        trial.publish("1")
        let result = try trial.transact()
        #expect(result.letters.isEmpty && result.devices(1).count == 4)
    }

    @Test(
        "one that was readable for the process before ends its pass, and is a dead letter",
        arguments: [0, 1] as [Int32])
    func failsInTheMiddle(partition: Int32) throws {
        let trial = CoreTrial()
        trial.join(devices, partition: partition)
        try trial.own(partition, pass: .init(joinedBelow: 4, key: devices[0].hashBytes))
        trial.publishUnreadable("1")
        let result = try trial.transact()
        #expect(result.pushes.isEmpty && result.letters.count == (partition == 0 ? 1 : 0))
        #expect(result.entry?.passes.map(\.end) == [.failed])
        #expect(result.offsets[partition]?.broadcast == 1 && result.offsets[partition]?.pass == nil)
    }

    @Test("an aborted transaction writes it again")
    func aborted() throws {
        let trial = CoreTrial()
        try trial.own(0)
        trial.publishUnreadable("1")
        trial.see()
        try trial.send(0)
        #expect(trial.sink.letters.count == 1)
        trial.abort()
        #expect(try trial.transact().letters.count == 1)
    }
}
