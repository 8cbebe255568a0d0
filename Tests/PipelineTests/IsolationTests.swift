import Testing

@testable import Pipeline

@Suite("A record that the broker refuses for good (kafka-rules 20)")
struct IsolationTests {
    private let event = Coordinates(partition: 2, offset: 40)
    private let batch: [Int32: Int64] = [2: 50]

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

    @Test("a commit between two aborts begins the count anew")
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
        "a tick that is refused twice runs alone, whatever events are committed in between; then its timers are dead letters, then the pipeline stops"
    )
    func tick() {
        var isolation = Isolation()
        for _ in 0..<2 {
            #expect(!isolation.isolatesTicks)
            #expect(isolation.tickRefused(wasAlone: false) == false)
            isolation.committed { _ in 10 }
        }
        #expect(isolation.isolatesTicks)
        #expect(isolation.tickTreatment == .asItIs)
        #expect(isolation.tickRefused(wasAlone: true) == false)
        #expect(isolation.tickTreatment == .deadLetter)
        var other = isolation
        #expect(other.tickRefused(wasAlone: true) == true)
        isolation.tickCommitted()
        #expect(!isolation.isolatesTicks)
        #expect(isolation.tickTreatment == .asItIs)
    }

    @Test("an event that is a dead letter from the start is cut at once")
    func deadLetterFromTheStart() {
        var isolation = afterTwoAborts()
        _ = isolation.recordRefused(error: "X", batch: batch, alone: event, wasDeadLetter: true)
        #expect(isolation.treatment(of: event) == .truncatedDeadLetter)
    }

    @Test("events run in batches again behind the batch that was refused")
    func end() {
        var isolation = afterTwoAborts()
        isolation.committed { _ in 49 }
        #expect(isolation.isActive)
        isolation.committed { _ in 50 }
        #expect(!isolation.isActive)
    }
}
