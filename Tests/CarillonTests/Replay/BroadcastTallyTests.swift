import Broadcasts
import Notifications
import Testing

@testable import carillon

@Suite("What replay plan says of broadcasts")
struct BroadcastTallyTests {
    private func entry(clock: WallTime, sent: Int, late: Int, of broadcast: Int64 = 12) -> BroadcastJournalEntry {
        let subject = BroadcastJournalEntry.Subject(
            partition: 7, broadcast: broadcast, notificationID: "7", messageID: "msg-1-a")
        var entry = BroadcastJournalEntry(group: "g", cluster: nil, dispatch: "d", rules: "0f")
        entry.clock = clock
        entry.passes = [.init(subject: subject, joinedBelow: 1, sent: sent)]
        entry.late = late > 0 ? [.init(subject: subject, sent: late)] : []
        return entry
    }

    @Test("it counts broadcasts, transactions and pushes of its time, and no transaction that sent nothing")
    func counts() {
        var tally = BroadcastTally()
        tally.note(entry(clock: 9, sent: 1_000, late: 0), within: 10..<20)
        tally.note(entry(clock: 10, sent: 1_000, late: 0), within: 10..<20)
        tally.note(entry(clock: 11, sent: 0, late: 0), within: 10..<20)
        tally.note(entry(clock: 12, sent: 500, late: 2), within: 10..<20)
        tally.note(entry(clock: 19, sent: 0, late: 1, of: 13), within: 10..<20)
        tally.note(entry(clock: 20, sent: 1_000, late: 0), within: 10..<20)
        #expect(
            tally.text
                == "broadcasts, which are not replayed: 2 in 3 transactions → 1,500 devices, and 3 that joined later")
    }
}
