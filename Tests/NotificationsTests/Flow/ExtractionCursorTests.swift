import Testing

@testable import Notifications
@testable import Pipeline

@Suite("How far the core has come in a batch")
struct ExtractionCursorTests {
    private func extracted() -> ExtractionCursor {
        var cursor = ExtractionCursor()
        cursor.restart(at: 10)
        cursor.append(.notifications(2), cancelling: CancelledTimers(alreadyStarted: 0, ended: 3, noSlot: 0))
        cursor.append(.suppressed(.duplicate), cancelling: CancelledTimers())
        return cursor
    }

    @Test("records are counted from where extraction began, and are left until they are emitted")
    func counts() {
        var cursor = extracted()
        #expect(cursor.notEmitted(of: .orders) == 2)
        #expect(cursor.cancelledTimers(by: 10).ended == 3)
        guard case .notifications(2) = cursor[10], case .suppressed(.duplicate) = cursor[11] else {
            Issue.record("other outcomes: \(cursor[10]), \(cursor[11])")
            return
        }
        cursor.nextRecord = 11
        #expect(cursor.notEmitted(of: .orders) == 1)
        cursor[11] = .suppressed(.expired)
        guard case .suppressed(.expired) = cursor[11] else {
            Issue.record("\(cursor[11])")
            return
        }
    }

    @Test("a new snapshot forgets recipients that were found and not used, and no others")
    func recipients() {
        var cursor = extracted()
        cursor.resolvedEnd = 5
        #expect(cursor.takeNotifications(2) == 0..<2)
        #expect(cursor.takeNotifications(1) == 2..<3)
        cursor.forgetRecipients()
        #expect(cursor.resolvedEnd == 3)
    }

    @Test("a restart leaves nothing of what was before")
    func restart() {
        var cursor = extracted()
        cursor.resolvedEnd = 5
        _ = cursor.takeNotifications(2)
        cursor.restart()
        #expect(cursor.notEmitted(of: .orders) == 0)
        #expect(cursor.nextRecord == 0 && cursor.nextNotification == 0 && cursor.resolvedEnd == 0)
        cursor.append(.notifications(1), cancelling: CancelledTimers())
        #expect(cursor.cancelledTimers(by: 0) == CancelledTimers())
        #expect(cursor.notEmitted(of: .orders) == 1)
    }
}
