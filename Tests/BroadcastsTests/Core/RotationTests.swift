import Notifications
import Testing

@testable import Broadcasts

@Suite("Devices whose token takes the place of another one")
struct RotationTests {
    private static let since = "1751000000000"
    private let devices = TestDevice.inOrder(6)

    /// A partition whose passes of these broadcasts are over, a second later.
    private func trial(_ broadcasts: Int = 1) throws -> CoreTrial {
        let trial = CoreTrial()
        for number in 0..<broadcasts { trial.publish("\(number)") }
        try trial.own(broadcast: Int64(broadcasts))
        trial.clock += 1_000
        return trial
    }

    @Test("a rotation gets none of the broadcasts whose pass over its partition is over, and a joiner beside it all")
    func over() throws {
        let trial = try trial(3)
        trial.join([devices[0]], since: Self.since)
        trial.join([devices[1]])
        let result = try trial.transact()
        #expect(result.pushes.map(\.device) == Array(repeating: devices[1].hash, count: 3))
        #expect(result.entry?.late.map(\.sent) == [1, 1, 1])
    }

    @Test("10,000 rotations get nothing, and what is published next reaches each once, by its pass")
    func fleet() throws {
        let trial = try trial(10)
        let fleet = (0..<10_000).map(TestDevice.init)
        trial.join(fleet, since: Self.since)
        #expect(try trial.transact().pushes.isEmpty)
        trial.publish("next")
        let reached = try trial.transact(budget: .max).devices(10)
        #expect(reached.count == fleet.count && Set(reached) == Set(fleet.map(\.hash)))
    }

    @Test("a broadcast whose pass is under way is sent to a rotation: its old token may not have had its turn")
    func underWay() throws {
        let trial = CoreTrial()
        trial.join(Array(devices[..<3]))
        trial.publish("over")
        try trial.own(broadcast: 1)
        trial.publish("under way")
        try trial.transact(budget: 1)
        trial.clock += 1_000
        trial.join([devices[5]], since: Self.since)
        #expect(try trial.transact(budget: 0).pushes.map(\.broadcast) == [1])
        #expect(try trial.transact().devices(1) == devices[1..<3].map(\.hash), "the pass does not send it again")
    }

    @Test("a broadcast that was published after the rotation is sent, though its pass ended before that was read")
    func published() throws {
        let trial = CoreTrial()
        try trial.own()
        trial.join([devices[0]], since: Self.since)
        trial.publish("in the same millisecond")
        trial.clock += 1
        trial.publish("later")
        trial.join([devices[1]], since: Self.since)
        let result = try trial.transact()
        #expect(result.devices(0) == [devices[0].hash] && result.devices(1) == devices[..<2].map(\.hash))
        #expect(result.entry?.passes.map(\.end) == [.done, .done])
    }

    @Test(
        "a header that is not 1 to 18 digits is no rotation",
        arguments: ["", " 1", "-1", "+1", "1.0", "1e3", "now", "٣", "1234567890123456789"])
    func invalid(_ since: String) throws {
        let trial = try trial()
        trial.join([devices[0]], since: since)
        #expect(try trial.transact().devices(0) == [devices[0].hash])
    }

    @Test("the number itself decides nothing", arguments: ["0", "007", "999999999999999999"])
    func number(_ since: String) throws {
        let trial = try trial()
        trial.join([devices[0]], since: since)
        #expect(try trial.transact().pushes.isEmpty)
    }

    @Test("with a refresh it changes nothing; who has left and comes back by it is a rotation, without it a joiner")
    func refresh() throws {
        let trial = CoreTrial()
        trial.join(Array(devices[..<3]))
        trial.publish("over")
        try trial.own(broadcast: 1)
        trial.clock += 1_000
        trial.join([devices[0]], since: Self.since)
        trial.publish("next")
        try trial.transact(budget: 0)
        #expect(try trial.transact().devices(1) == devices[..<3].map(\.hash))
        trial.leave(Array(devices[..<3]))
        trial.clock += 1_000
        trial.join([devices[0]], since: Self.since)
        trial.join([devices[1]])
        let back = try trial.transact()
        #expect(back.pushes.map(\.device) == [devices[1].hash, devices[1].hash])
    }

    @Test("headers are looked at for a record that joins a channel where something is valid, and for no other")
    func headers() throws {
        let trial = try trial()
        trial.join([devices[0]])
        trial.join([devices[0]], since: Self.since)
        trial.join([devices[1]], "channel/other", since: Self.since)
        trial.leave([devices[0]])
        try trial.transact()
        #expect(trial.headersRead == 1)
    }
}
