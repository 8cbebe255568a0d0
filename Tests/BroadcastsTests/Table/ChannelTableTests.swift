import Notifications
import StateStore
import Testing

@testable import Broadcasts

@Suite("The table of channels")
struct ChannelTableTests {
    private let devices = TestDevice.inOrder(4)

    @Test("a device joins with the offset of the record by which it became live")
    func joins() throws {
        let trial = try ChannelTableTrial()
        #expect(try trial.subscribe(devices[0], at: 7).joinedAt == 7)
        trial.table.commit()
        try trial.table.flush(at: 8)
        #expect(try trial.devices() == [.init(device: devices[0].token, joined: 7)])
    }

    @Test(
        "a refresh keeps the offset at which the device joined, wherever the device is",
        arguments: ["staged", "pending", "stored"])
    func refresh(state: String) throws {
        let trial = try ChannelTableTrial()
        try trial.subscribe(devices[0], at: 7, seen: 1)
        if state != "staged" { trial.table.commit() }
        if state == "stored" { try trial.table.flush(at: 8) }
        #expect(try trial.subscribe(devices[0], at: 9, seen: 2_000) == .refreshed)
        trial.table.commit()
        try trial.table.flush(at: 10)
        #expect(try trial.devices() == [.init(device: devices[0].token, joined: 7)])
        var seen: WallTime?
        _ = try trial.table.visit(ChannelHash(of: ChannelTableTrial.channel), from: nil, limit: 1) { _, device, _ in
            seen = device.lastSeen
        }
        #expect(seen == 2_000)
    }

    @Test(
        "a device that left joins again at the offset of its return, wherever it is known that it left",
        arguments: ["staged", "pending", "stored"])
    func rejoin(state: String) throws {
        let trial = try ChannelTableTrial()
        try trial.subscribe(devices[0], at: 7)
        trial.table.commit()
        try trial.table.flush(at: 8)
        #expect(try trial.unsubscribe(devices[0], at: 8).hasLeft)
        if state != "staged" { trial.table.commit() }
        if state == "stored" {
            try trial.table.flush(at: 9)
            #expect(try trial.storedCount() == 0)
        }
        #expect(try trial.subscribe(devices[0], at: 9).joinedAt == 9)
    }

    @Test("the age of a table is stored also if nothing has changed")
    func age() throws {
        let trial = try ChannelTableTrial()
        trial.table.time = 5_000
        #expect(trial.table.storedTime == 0)
        try trial.table.flush(at: 0)
        #expect(trial.table.storedTime == 5_000)
        let reader = try trial.store.makeReader()
        try reader.begin()
        let checkpoint = try #require(try reader.checkpoint().flatMap { ChannelCheckpoint.read($0) })
        #expect(checkpoint.checkpoint.time == 5_000)
    }

    @Test("who is not there does not leave")
    func leavesTwice() throws {
        let trial = try ChannelTableTrial()
        #expect(try trial.unsubscribe(devices[0], at: 1) == .none)
        try trial.subscribe(devices[0], at: 2)
        #expect(try trial.unsubscribe(devices[0], at: 3).hasLeft)
        #expect(try trial.unsubscribe(devices[0], at: 4) == .none)
    }

    @Test("a device has its own entry in each channel")
    func channels() throws {
        let trial = try ChannelTableTrial()
        try trial.subscribe(devices[0], "channel/a", at: 1)
        #expect(try trial.subscribe(devices[0], "channel/b", at: 2).joinedAt == 2)
        try trial.unsubscribe(devices[0], "channel/a", at: 3)
        trial.table.commit()
        try trial.table.flush(at: 4)
        #expect(try trial.devices("channel/a").isEmpty)
        #expect(try trial.devices("channel/b") == [.init(device: devices[0].token, joined: 2)])
    }

    @Test("records of places, users and devices change nothing", arguments: ["place/1", "user/1", "device/"])
    func otherAudiences(audience: String) throws {
        let trial = try ChannelTableTrial()
        let audience = audience == "device/" ? "device/\(devices[0].hash)" : audience
        #expect(try trial.subscribe(devices[0], audience, at: 1) == .none)
        #expect(try trial.unsubscribe(devices[0], audience, at: 2) == .none)
    }

    @Test("a record that is no subscription is malformed, and changes nothing")
    func malformed() throws {
        let trial = try ChannelTableTrial()
        let key = devices[0].key(in: ChannelTableTrial.channel)
        try trial.subscribe(devices[0], at: 1)
        #expect(try trial.apply(Array("what".utf8), nil, at: 2) == .malformed)
        #expect(try trial.apply(key, Array("{".utf8), at: 3) == .malformed)
        #expect(try trial.apply(key, devices[1].value(in: ChannelTableTrial.channel, seen: 0), at: 4) == .malformed)
        #expect(try trial.subscribe(devices[0], at: 5) == .refreshed)
    }

    @Test("what an aborted transaction staged does not count")
    func abort() throws {
        let trial = try ChannelTableTrial()
        try trial.subscribe(devices[0], at: 1)
        trial.table.commit()
        try trial.unsubscribe(devices[0], at: 2)
        try trial.subscribe(devices[1], at: 3)
        trial.table.abort()
        trial.table.commit()
        try trial.table.flush(at: 2)
        #expect(try trial.devices() == [.init(device: devices[0].token, joined: 1)])
        #expect(try trial.stored()?.checkpoint.records.elements.map(\.offset) == [1])
    }

    @Test("the store has what was committed and no more, and says below which offset")
    func neverAhead() throws {
        let trial = try ChannelTableTrial()
        try trial.subscribe(devices[0], at: 1)
        trial.table.commit()
        try trial.subscribe(devices[1], at: 2)
        #expect(trial.table.isPending && trial.table.pendingCount == 1 && trial.table.stored == 0)
        try trial.table.flush(at: 2)
        #expect(!trial.table.isPending && trial.table.stored == 2)
        #expect(try trial.storedCount() == 1)
        #expect(try trial.stored()?.checkpoint.offset == 2)
        #expect(try trial.stored()?.origin == ChannelTableTrial.origin)
    }

    @Test("a flush keeps what the open transaction has staged")
    func flushKeepsStaged() throws {
        let trial = try ChannelTableTrial()
        try trial.subscribe(devices[0], at: 1)
        try trial.table.flush(at: 1)
        #expect(try trial.storedCount() == 0)
        trial.table.commit()
        #expect(trial.table.pendingCount == 1)
    }

    @Test("the last sixteen records below the offset are noted, of whatever audience")
    func fingerprints() throws {
        let trial = try ChannelTableTrial()
        for offset in 0..<100 { try trial.subscribe(devices[0], "place/1", at: Int64(offset)) }
        trial.table.commit()
        try trial.table.flush(at: 100)
        let stored = try #require(try trial.stored()).checkpoint.records.elements
        #expect(stored.map(\.offset) == Array(84..<100))
        #expect(stored.last?.timestamp == 1_099)
    }

    @Test("a device that is only pending is not visited, one that left while it was stored is not either")
    func pendingDevices() throws {
        let trial = try ChannelTableTrial()
        try trial.subscribe(devices[0], at: 1)
        try trial.subscribe(devices[2], at: 2)
        trial.table.commit()
        try trial.table.flush(at: 3)
        try trial.unsubscribe(devices[0], at: 3)
        try trial.subscribe(devices[1], at: 4)
        try trial.unsubscribe(devices[2], at: 5)
        try trial.subscribe(devices[2], at: 6)
        trial.table.commit()
        // The third has come back: it is there, since its return.
        #expect(try trial.devices() == [.init(device: devices[2].token, joined: 6)])
    }

    @Test("devices are visited in the order of their hashes, from a key on, so many at a time")
    func order() throws {
        let trial = try ChannelTableTrial()
        for (offset, device) in devices.reversed().enumerated() { try trial.subscribe(device, at: Int64(offset)) }
        trial.table.commit()
        try trial.table.flush(at: 4)
        #expect(try trial.devices().map(\.device) == devices.map(\.token))
        #expect(try trial.devices(from: devices[1], limit: 2).map(\.device) == devices[1...2].map(\.token))
        #expect(trial.table.lastVisited?.device == devices[2].hashBytes)
    }

    @Test("devices are counted by the offset at which they joined, which is below another")
    func count() throws {
        let trial = try ChannelTableTrial()
        for (offset, device) in devices.enumerated() { try trial.subscribe(device, at: Int64(offset)) }
        trial.table.commit()
        try trial.table.flush(at: 4)
        let hash = ChannelHash(of: ChannelTableTrial.channel)
        #expect(try trial.table.count(hash, joinedBelow: 3) == 3)
        #expect(try trial.table.count(ChannelHash(of: "channel/b"), joinedBelow: 3) == 0)
    }

    @Test("more devices than are read at a time are counted")
    func countOfMany() throws {
        let trial = try ChannelTableTrial()
        for number in 0..<10_050 { try trial.subscribe(TestDevice(number), at: Int64(number)) }
        trial.table.commit()
        try trial.table.flush(at: 10_050)
        #expect(try trial.table.count(ChannelHash(of: ChannelTableTrial.channel), joinedBelow: 10_040) == 10_040)
    }

    @Test("after a write that failed everything is still known, and pending")
    func failedFlush() throws {
        let store = FailingStore()
        let trial = try ChannelTableTrial(store: store)
        try trial.subscribe(devices[0], at: 1)
        trial.table.commit()
        try trial.table.flush(at: 2)
        try trial.subscribe(devices[1], at: 2)
        trial.table.commit()
        store.fails = true
        #expect(throws: StoreError.self) { try trial.table.flush(at: 3) }
        #expect(trial.table.stored == 2 && trial.table.pendingCount == 1)
        #expect(try trial.subscribe(devices[0], at: 3) == .refreshed)
        #expect(try trial.devices().count == 1)
        store.fails = false
        try trial.table.flush(at: 3)
        #expect(try trial.devices().count == 2)
    }
}
