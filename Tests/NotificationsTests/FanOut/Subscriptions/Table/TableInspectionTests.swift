import StageSupport
import Testing

@testable import Notifications
@testable import StateStore

@Suite("What table check shows")
struct TableInspectionTests {
    @Test("two tables with the same content have the same digest, which another language can compute")
    func digest() throws {
        var developer = Subscription.apns("00ff", of: "place/8")
        developer.environment = .development
        let unseen = Subscription.fcm("b", lastSeen: nil)
        func digest(_ subscriptions: Subscription...) throws -> String {
            let trial = TableTrial()
            let table = try trial.open(trial.topic()).table
            for each in subscriptions { try table.store(each) }
            try table.close()
            return try SubscriptionTable.inspect(directory: trial.folder.path).digest
        }
        // Python: XOR of hashlib.sha256(line.encode()) over the three lines.
        let expected = "e42251ba01cde3ac8e7a288fd9187e33b9968d986b8dbd15e4e5669fec6fe409"
        #expect(try digest(.fcm("a"), unseen, developer) == expected)
        #expect(try digest(developer, .fcm("a"), .fcm("a"), .fcm("b"), unseen) == expected)
        #expect(try digest(.fcm("a"), unseen) != expected)
        #expect(try digest(.fcm("a"), .fcm("b"), developer) != expected)
        #expect(try digest(.fcm("a"), unseen, .apns("00ff", of: "place/8")) != expected)
        #expect(try digest() == String(repeating: "0", count: 64))
    }

    @Test("inspecting reports the devices and the position of the table")
    func inspect() throws {
        let trial = TableTrial()
        try trial.fill(trial.topic())
        let inspection = try SubscriptionTable.inspect(directory: trial.folder.path)
        #expect(inspection.devices == 2)
        #expect(inspection.topic == "notifications.subscriptions")
        #expect(inspection.offsets == [17])
        #expect(inspection.checkpointTime == noon)
        #expect(inspection.wiped == nil)
    }

    @Test("inspecting wipes no table that was not closed, however often")
    func unclean() throws {
        let trial = TableTrial()
        try trial.fill(trial.topic())
        let marker = UseMarker(folder: trial.folder.path, boot: UseMarker.currentBoot())
        for starts in [2, 5, 1_000] {
            try marker.write(starts: starts)
            let inspection = try SubscriptionTable.inspect(directory: trial.folder.path)
            #expect(inspection.wiped == nil)
            #expect(inspection.devices == 2)
        }
    }
}
