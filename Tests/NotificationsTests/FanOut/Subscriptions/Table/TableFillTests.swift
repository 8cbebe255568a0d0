import Foundation
import StageSupport
import TestSupport
import Testing

@testable import Notifications

@Suite("Filling the subscriptions table")
struct TableFillTests {
    private static let whole = TablePosition(offsets: [17], records: [.init()], time: noon, isWhole: true)

    /// Subscriptions and unsubscriptions of some tokens, several of each, with malformed ones among them.
    private func records(_ count: Int, seed: UInt64) -> [TableRecord] {
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        return (0..<count).map { _ in
            let place = "place/\(Int.random(in: 0..<50, using: &random))"
            var subscription = Subscription.fcm("token-\(Int.random(in: 0..<count / 200, using: &random))", of: place)
            subscription.lastSeenAt = WallTime(milliseconds: .random(in: 0..<1_000_000, using: &random))
            switch Int.random(in: 0..<20, using: &random) {
            case 0: return TableRecord(key: Array(subscription.key.utf8), value: Array("[]".utf8))
            case 1...5: return TableRecord(removing: subscription)
            default: return TableRecord(subscription)
            }
        }
    }

    /// Lays records aside in runs of this size.
    private func laidAside(_ records: [TableRecord], runs size: Int) throws -> TableFill {
        var fill = TableFill(in: NSTemporaryDirectory())
        for start in stride(from: 0, to: records.count, by: size) {
            var changes = SubscriptionChanges()
            changes.append(records[start..<min(start + size, records.count)])
            try fill.layAside(&changes)
            #expect(changes.count == 0)
        }
        return fill
    }

    private func store(_ fill: consuming TableFill, in table: SubscriptionTable) throws -> (
        change: SubscriptionTableChange, parts: Int
    ) {
        var parts = 1
        while true {
            if let change = try table.store(&fill, Self.whole, limit: 10_000) { return (change, parts) }
            #expect(!table.isWhole)
            #expect(try table.hasSnapshot == false)
            parts += 1
        }
    }

    @Test(
        "sorted, a table has the same content as with every record stored as it came", arguments: [1, 2, 3] as [UInt64])
    func sameContent(seed: UInt64) throws {
        let records = records(6_000, seed: seed)
        let (trial, other) = (TableTrial(), TableTrial())
        var summary = SubscriptionTableChange()
        do {
            let table = try trial.open(trial.topic()).table
            let stored = try store(laidAside(records, runs: 700), in: table)
            summary = stored.change
            #expect(stored.parts > 3)
            #expect(table.position == Self.whole)
            try table.close()
        }
        let table = try other.open(other.topic()).table
        var malformed = 0
        for start in stride(from: 0, to: records.count, by: 100) {
            malformed += try table.apply(Array(records[start..<start + 100]), next: 17).malformed
        }
        let count = try table.count()
        try table.close()
        let sorted = try SubscriptionTable.inspect(directory: trial.folder.path)
        let unsorted = try SubscriptionTable.inspect(directory: other.folder.path)
        #expect(sorted.digest == unsorted.digest)
        #expect(sorted.devices == count && summary.upserts == count)
        #expect(sorted.offsets == [17])
        #expect(summary.malformed == malformed && summary.examples.count == 10)
    }

    @Test("a table whose filling was interrupted between two parts begins empty, and has everything in the end")
    func interrupted() throws {
        let records = records(4_000, seed: 4)
        let trial = TableTrial()
        do {
            let table = try trial.open(trial.topic()).table
            var fill = try laidAside(records, runs: 700)
            for _ in 0..<3 { #expect(try table.store(&fill, Self.whole, limit: 10_000) == nil) }
            #expect(try table.hasSnapshot == false)
            try table.close()
        }
        let (table, opening) = try trial.open(trial.topic())
        #expect(opening == .rebuilt(reason: "it was not read to its topic's end"))
        #expect(try table.count() == 0)
        let stored = try store(laidAside(records, runs: 300), in: table)
        #expect(try table.count() == stored.change.upserts)
        try table.close()
        #expect(try trial.open(trial.topic()).opening == .resumed(devices: stored.change.upserts))
    }

    @Test("a fill that was given up leaves nothing behind, and the next one takes its place")
    func givenUp() throws {
        let trial = TableTrial()
        let table = try trial.open(trial.topic()).table
        var fill = try laidAside((0..<1_000).map { TableRecord(.fcm("old-\($0)")) }, runs: 100)
        #expect(try table.store(&fill, Self.whole, limit: 10_000) == nil)
        fill.removeAll()
        let isEmpty = fill.isEmpty
        #expect(isEmpty)
        let stored = try store(laidAside((0..<300).map { TableRecord(.fcm("new-\($0)")) }, runs: 100), in: table)
        #expect(stored.change.upserts == 300)
        #expect(try table.tokens(of: "place/7").allSatisfy { $0.hasPrefix("new-") })
        #expect(try table.count() == 300)
    }
}
