import KafkaClient
import Testing

@testable import Streaming

@Suite("A transaction whose end is unknown")
struct UnknownEndTests {
    private func offset(_ value: Int64, _ metadata: String = "m") -> CommittedOffset {
        CommittedOffset(offset: Offset(value), metadata: metadata)
    }

    @Test("whether it was committed is seen by what the group has of what it was to commit")
    func outcome() {
        let end = UnknownEnd(
            sent: [0: offset(7), 1: offset(9)], before: [0: offset(5), 1: offset(9, "old"), 2: offset(1)])
        #expect(end.outcome([0: offset(7), 1: offset(9), 2: offset(1)]) == .committed)
        #expect(end.outcome([0: offset(5), 1: offset(9, "old"), 2: offset(3)]) == .aborted)
    }

    @Test("the group may have neither: somebody else has committed, or the offsets were removed")
    func neither() {
        let end = UnknownEnd(sent: [0: offset(7), 1: offset(9)], before: [0: offset(5), 1: offset(8)])
        #expect(end.outcome([0: offset(8), 1: offset(9)]) == .neither)
        #expect(end.outcome([0: offset(7), 1: offset(8)]) == .neither)
        #expect(end.outcome([0: offset(7, "another's"), 1: offset(9)]) == .neither)
        #expect(end.outcome([:]) == .neither)
    }

    @Test("where the group had nothing before, nothing is an abort")
    func first() {
        let end = UnknownEnd(sent: [0: offset(7)], before: [:])
        #expect(end.outcome([:]) == .aborted)
        #expect(end.outcome([0: offset(7)]) == .committed)
    }
}
