import Foundation
import StageSupport
import Testing

@testable import Notifications

@Suite("Opening the subscriptions table, on disk")
struct TableOpeningTests {
    private let trial = TableTrial()

    @Test("a table continues at the stored offsets after closing and opening")
    func resume() throws {
        #expect(try trial.open(trial.topic(start: [5])).opening == .created)
        try trial.fill(trial.topic())
        let (table, opening) = try trial.open(trial.topic())
        #expect(opening == .resumed(devices: 2))
        #expect(table.appliedOffsets == [17])
        #expect(try table.tokens(of: "place/7") == ["a", "b"])
        try table.close()
    }

    @Test("a new table starts where the topic starts")
    func startOffsets() throws {
        #expect(try trial.open(trial.topic(start: [5, 0, 7], end: [9, 9, 9])).table.appliedOffsets == [5, 0, 7])
    }

    @Test(
        "docs/kafka.md 18: a checkpoint older than half of delete.retention.ms is wiped",
        arguments: [(day, false), (day + 1, true), (-day, false), (-day - 1, true)] as [(Int64, Bool)])
    func age(milliseconds: Int64, isWiped: Bool) throws {
        try trial.fill(trial.topic())
        let (table, opening) = try trial.open(
            trial.topic(), at: noon + milliseconds)
        if isWiped {
            guard case .rebuilt(let reason) = opening else {
                Issue.record("opened as \(opening)")
                return
            }
            #expect(reason.contains("delete.retention.ms"))
            #expect(table.appliedOffsets == [0])
            #expect(try table.count() == 0)
        } else {
            #expect(opening == .resumed(devices: 2))
        }
    }

    @Test("applying no records renews the checkpoint of an idle topic")
    func keepAlive() throws {
        try trial.fill(trial.topic())
        let later = noon + day
        let table = try trial.open(trial.topic(), at: later).table
        _ = try table.apply([], nextOffsets: [17], at: later)
        try table.close()
        #expect(
            try trial.open(trial.topic(), at: later + day).opening
                == .resumed(devices: 2))
    }

    @Test(
        "a stored offset outside the topic wipes the table",
        arguments: [([18], [1_000]), ([0], [16])] as [([Int64], [Int64])])
    func outside(start: [Int64], end: [Int64]) throws {
        try trial.fill(trial.topic())
        guard case .rebuilt(let reason) = try trial.open(trial.topic(start: start, end: end)).opening else {
            Issue.record("the table was kept")
            return
        }
        #expect(reason.contains("offset 17 of partition 0"))
    }

    @Test("an offset at either end of the topic is inside it")
    func inside() throws {
        try trial.fill(trial.topic())
        #expect(try trial.open(trial.topic(start: [17], end: [17])).opening == .resumed(devices: 2))
    }

    @Test("another topic's table is wiped")
    func otherTopic() throws {
        try trial.fill(trial.topic())
        guard case .rebuilt = try trial.open(trial.topic("other")).opening else {
            Issue.record("the table was kept")
            return
        }
    }

    @Test("a changed partition count is an error that names both counts, and keeps the table")
    func partitions() throws {
        try trial.fill(trial.topic(start: [0, 0], end: [50, 50]), offsets: [17, 18])
        let error = #expect(throws: SubscriptionTableError.self) {
            _ = try trial.open(trial.topic(start: [0, 0, 0], end: [9, 9, 9]))
        }
        #expect(error?.recovery == .giveUp)
        #expect(error?.description.contains("had 2 partitions and now has 3") == true)
        #expect(try trial.open(trial.topic(start: [0, 0], end: [50, 50])).opening == .resumed(devices: 2))
    }

    @Test(
        "another cluster's table is wiped; if either cluster is unknown, it is kept", arguments: ["a", "b", nil])
    func cluster(now: String?) throws {
        var stored = trial.topic()
        stored.cluster = "a"
        try trial.fill(stored)
        var found = trial.topic()
        found.cluster = now
        let opening = try trial.open(found).opening
        if now == "b" {
            #expect(opening == .rebuilt(reason: "it was filled from the cluster a, and this one is b"))
        } else {
            #expect(opening == .resumed(devices: 2))
        }
    }

    @Test("a table that was not read to its topic's end is wiped, closed or not", arguments: [true, false])
    func cutOff(isClosed: Bool) throws {
        try trial.fill(trial.topic())
        do {
            let table = try trial.open(trial.topic()).table
            try table.restart(at: [5], time: noon)
            var changes = SubscriptionChanges()
            changes.append([TableRecord(.fcm("c"))])
            _ = try table.apply(&changes, .beginning(at: [9], time: noon))
            let marker = try Data(contentsOf: URL(fileURLWithPath: trial.folder.path + "/in-use"))
            try table.close()
            if !isClosed { try [UInt8](marker).write(toFile: trial.folder.path + "/in-use") }
        }
        let (table, opening) = try trial.open(trial.topic(start: [3]))
        #expect(opening == .rebuilt(reason: "it was not read to its topic's end"))
        #expect(table.position == .beginning(at: [3], time: noon))
        #expect(try table.count() == 0)
        try table.close()
    }

    @Test("a table whose process was killed continues; after the third kill in a row it is filled again")
    func killed() throws {
        try trial.fill(trial.topic())
        for kills in 0...3 {
            let (table, opening) = try trial.open(trial.topic())
            switch kills {
            case 0: #expect(opening == .resumed(devices: 2))
            case 1, 2: #expect(opening == .unclosed(devices: 2))
            default: #expect(opening == .rebuilt(reason: "it was not closed 3 times in a row"))
            }
            #expect(table.appliedOffsets == [kills < 3 ? 17 : 0])
            let marker = try Data(contentsOf: URL(fileURLWithPath: trial.folder.path + "/in-use"))
            try table.close()
            try [UInt8](marker).write(toFile: trial.folder.path + "/in-use")
        }
    }
}

extension [UInt8] {
    fileprivate func write(toFile path: String) throws {
        try Data(self).write(to: URL(fileURLWithPath: path))
    }
}
