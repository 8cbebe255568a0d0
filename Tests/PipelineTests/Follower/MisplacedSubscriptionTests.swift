import KafkaClient
import Telemetry
import Testing

@testable import Notifications
@testable import Pipeline

@Suite("Misplaced subscriptions", .timeLimit(.minutes(30)))
struct MisplacedSubscriptionTests {
    private static let partitions = 3

    private func misplaced(_ trial: borrowing FollowerTrial) -> Int {
        trial.context.meter.reading.counts.misplacedSubscriptions
    }

    @Test("a subscription in a wrong partition has no effect, and is counted")
    func subscription() throws {
        var trial = try FollowerTrial(partitions: Self.partitions)
        for number in 0..<9 {
            let home = FollowerTrial.home("token-\(number)", among: Self.partitions)
            let partition = number < 4 ? home : (home + 1) % 3
            try trial.write("token-\(number)", isSubscribed: true, in: partition)
        }
        try trial.rounds(until: "the table is complete") { $0.table.isWhole }
        #expect(try trial.table.count() == 4)
        #expect(misplaced(trial) == 5)
        #expect(trial.context.meter.reading.counts.malformedSubscriptions == 0)
    }

    @Test("who has unsubscribed gets no push after a rebuild, whichever partition its subscription was written to")
    func rebuild() throws {
        var trial = try FollowerTrial(partitions: Self.partitions)
        for number in 0..<12 {
            try trial.write("token-\(number)", isSubscribed: true, in: Int32(number % Self.partitions))
        }
        try trial.unsubscribe((0..<12).map { "token-\($0)" })
        try trial.rounds(until: "the table is complete") { $0.table.isWhole }
        #expect(try trial.table.count() == 0)
        trial.follower.mustRebuild("the test says so")
        try trial.rounds(until: "the table is read again") { $0.follower.rebuildReason == nil && $0.table.isWhole }
        #expect(try trial.table.count() == 0)
    }

    @Test("an unsubscription in a wrong partition ends nothing, and is counted")
    func unsubscription() throws {
        var trial = try FollowerTrial(partitions: Self.partitions)
        try trial.subscribe(["token"])
        try trial.rounds(until: "it is stored") { try $0.table.count() == 1 }
        let home = FollowerTrial.home("token", among: Self.partitions)
        for step in Int32(1)...2 { try trial.write("token", isSubscribed: false, in: (home + step) % 3) }
        try trial.rounds(until: "both are counted") { $0.context.meter.reading.counts.misplacedSubscriptions == 2 }
        #expect(try trial.table.count() == 1)
    }

    @Test("a null by which Carillon ended a misplaced record is not counted: after mending the warning ends")
    func ended() throws {
        var trial = try FollowerTrial(partitions: Self.partitions)
        try trial.subscribe(["token"])
        let home = FollowerTrial.home("token", among: Self.partitions)
        let mark = RecordHeader(SubscriptionRecord.mendedHeader, Array("1".utf8))
        try trial.write("token", isSubscribed: false, in: (home + 1) % 3, headers: [mark])
        try trial.rounds(until: "both are read") { $0.table.isWhole && $0.table.position.offsets.reduce(0, +) == 2 }
        #expect(misplaced(trial) == 0)
        #expect(try trial.table.count() == 1)
    }

    @Test("a key that is none of a subscription is malformed wherever it is, not misplaced")
    func foreignKeys() {
        var changes = SubscriptionChanges()
        Array("no key".utf8).withUnsafeBytes { key in
            changes.append(SubscriptionRecord(partition: 1, offset: 0, key: key, value: nil))
        }
        #expect(changes.malformed == 1)
    }
}
