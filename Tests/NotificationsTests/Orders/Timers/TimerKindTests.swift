import Testing

@testable import Notifications

@Suite("The timers of an order")
struct TimerKindTests {
    @Test("they are due in the order of their numbers, and an upstream's event of such a type is not sent as well")
    func order() {
        let kinds = TimerKind.allCases
        #expect(kinds.map(\.rawValue) == Array(0..<UInt8(kinds.count)))
        #expect(zip(kinds, kinds.dropFirst()).allSatisfy { $0.delay < $1.delay })
        #expect(TimerKind.longestDelay == kinds.last?.delay)
        #expect(kinds.allSatisfy { $0.type.isSentByTimers })
    }

    @Test("a reminder gives way to the next one, the start of the slot to none")
    func successors() {
        let reminders = TimerKind.allCases.filter { $0.reminder != nil }
        #expect(reminders.map { $0.reminder } == [1, 2, 3])
        #expect(reminders.map(\.successor) == reminders.dropFirst().map { $0 } + [nil])
        #expect(TimerKind.slotStart.successor == nil)
        #expect(TimerKind.allCases.filter(\.wantsUnpicked) == reminders)
    }
}
