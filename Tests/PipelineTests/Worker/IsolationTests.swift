import Notifications
import Testing

@testable import Pipeline

@Suite("A record that the broker refuses permanently (docs/kafka.md 20)")
struct IsolationTests {
    private let event = EventCoordinates(2, offset: 40)
    private let batch: [SourcePartition: Int64] = [2: 50]

    private func afterTwoAborts() -> Isolation {
        var isolation = Isolation()
        for _ in 0..<2 {
            _ = isolation.recordRefused(error: "MSG_SIZE_TOO_LARGE", batch: batch, alone: nil, wasDeadLetter: false)
        }
        return isolation
    }

    @Test("one abort only repeats the batch")
    func firstAbort() {
        var isolation = Isolation()
        let action = isolation.recordRefused(
            error: "MSG_SIZE_TOO_LARGE", batch: batch, alone: nil, wasDeadLetter: false)
        #expect(action == .retry)
        #expect(!isolation.isActive)
    }

    @Test("two aborts with the same error run the batch's events one by one")
    func secondAbort() {
        #expect(afterTwoAborts().isActive)
    }

    @Test("two aborts with different errors do not")
    func differentErrors() {
        var isolation = Isolation()
        _ = isolation.recordRefused(error: "MSG_SIZE_TOO_LARGE", batch: batch, alone: nil, wasDeadLetter: false)
        _ = isolation.recordRefused(error: "INVALID_RECORD", batch: batch, alone: nil, wasDeadLetter: false)
        #expect(!isolation.isActive)
    }

    @Test("a commit between two aborts resets the count")
    func commitBetween() {
        var isolation = Isolation()
        _ = isolation.recordRefused(error: "INVALID_RECORD", batch: batch, alone: nil, wasDeadLetter: false)
        isolation.committed { _ in 10 }
        _ = isolation.recordRefused(error: "INVALID_RECORD", batch: batch, alone: nil, wasDeadLetter: false)
        #expect(!isolation.isActive)
    }

    @Test("the event that fails alone is dead-lettered, then its dead letter is cut, then the pipeline stops")
    func escalation() {
        var isolation = afterTwoAborts()
        #expect(isolation.treatment(of: event) == .asItIs)
        #expect(isolation.recordRefused(error: "X", batch: batch, alone: event, wasDeadLetter: false) == .retry)
        #expect(isolation.treatment(of: event) == .deadLetter)
        #expect(isolation.recordRefused(error: "X", batch: batch, alone: event, wasDeadLetter: true) == .retry)
        #expect(isolation.treatment(of: event) == .truncatedDeadLetter)
        #expect(isolation.recordRefused(error: "X", batch: batch, alone: event, wasDeadLetter: true) == .giveUp(event))
    }

    @Test(
        "timers that are refused twice go by themselves, whatever events are committed in between, half as many each time"
    )
    func tick() {
        var isolation = Isolation()
        for _ in 0..<2 {
            #expect(isolation.tickLimit == nil)
            #expect(isolation.tickRefused(timers: 9, limit: nil) == false)
            isolation.committed { _ in 10 }
        }
        #expect(isolation.tickLimit == 5)
        #expect(isolation.tickRefused(timers: 5, limit: 5) == false)
        #expect(isolation.tickLimit == 3)
    }

    @Test("a single timer that is refused becomes a dead letter, and where that is refused, too, the pipeline stops")
    func refusedTimer() {
        var isolation = Isolation()
        for _ in 0..<2 { _ = isolation.tickRefused(timers: 1, limit: nil) }
        #expect(isolation.tickLimit == 1)
        #expect(isolation.tickTreatment == .asItIs)
        #expect(isolation.tickRefused(timers: 1, limit: 1) == false)
        #expect(isolation.tickTreatment == .deadLetter)
        var other = isolation
        #expect(other.tickRefused(timers: 1, limit: 1) == true)
        isolation.tickCommitted(limit: 1)
        #expect(isolation.tickLimit == nil)
        #expect(isolation.tickTreatment == .asItIs)
    }

    @Test("of any number of timers the refused one is found in a number of transactions that grows with its logarithm")
    func search() {
        for timers in [1, 2, 3, 7, 64, 1_000, 50_000] {
            for refused in Set([0, timers / 3, timers / 2, timers - 1]) {
                var isolation = Isolation()
                var (next, attempts, deadLetters) = (0, 0, 0)
                while next < timers, attempts < 100 {
                    attempts += 1
                    let limit = isolation.tickLimit
                    let end = min(timers, next + (limit ?? timers))
                    if (next..<end).contains(refused), isolation.tickTreatment == .asItIs {
                        let isOver = isolation.tickRefused(timers: end - next, limit: limit)
                        #expect(!isOver)
                    } else {
                        if isolation.tickTreatment == .deadLetter {
                            deadLetters += 1
                            #expect(next == refused && end == refused + 1)
                        }
                        next = end
                        isolation.tickCommitted(limit: limit)
                    }
                }
                #expect(next == timers && deadLetters == 1, "\(refused) of \(timers)")
                #expect(attempts <= 26, "\(refused) of \(timers): \(attempts)")
            }
        }
    }

    @Test("an event that is a dead letter from the start is cut at once")
    func deadLetterFromTheStart() {
        var isolation = afterTwoAborts()
        _ = isolation.recordRefused(error: "X", batch: batch, alone: event, wasDeadLetter: true)
        #expect(isolation.treatment(of: event) == .truncatedDeadLetter)
    }

    @Test("events run in batches again after the batch that was refused")
    func end() {
        var isolation = afterTwoAborts()
        isolation.committed { _ in 49 }
        #expect(isolation.isActive)
        isolation.committed { _ in 50 }
        #expect(!isolation.isActive)
    }
}
