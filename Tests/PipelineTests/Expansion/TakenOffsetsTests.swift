import Testing

@testable import Pipeline

@Suite("How far the expansion has read each partition")
struct TakenOffsetsTests {
    @Test("an end that was reached before later records were read does not lead back")
    func ends() {
        var taken = TakenOffsets()
        // The last one: a marker of a transaction is below this end.
        let advanced = [12, 10, 12, 13].map { taken.advance(0, to: $0) }
        #expect(advanced == [true, false, false, true])
        let other = taken.advance(1, to: 0)
        #expect(other)
    }
}
