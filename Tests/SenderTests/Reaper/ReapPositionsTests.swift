import Testing

@testable import KafkaClient
@testable import Sender

@Suite("What the reaper commits")
struct ReapPositionsTests {
    @Test("positions, held credentials and the time of a confirmation survive the metadata")
    func roundTrip() {
        let positions = ReapPositions(
            next: [0: 5, 1: 0, 7: 9], held: ["abcd0123", "ff"], confirmed: 1_700_000_000_000)
        #expect(ReapPositions(positions.committed) == positions)
        let plain = ReapPositions(next: [0: 5])
        #expect(plain.committed == [0: CommittedOffset(offset: Offset(5), metadata: "v1")])
        let one = ReapPositions(next: [0: 5], held: ["ff"], confirmed: 5)
        #expect(one.committed[0]?.metadata == "v1 h=ff c=5")
    }

    @Test("other metadata says nothing, and words of other versions are ignored")
    func foreign() {
        func read(_ metadata: String) -> ReapPositions {
            ReapPositions([0: CommittedOffset(offset: Offset(5), metadata: metadata)])
        }
        for metadata in ["", "reset by hand", "v2 h=ff", "v1 x=1", "v1 c=x"] {
            #expect(read(metadata) == ReapPositions(next: [0: 5]))
        }
        #expect(read("v1 u=1:3 h=ff") == ReapPositions(next: [0: 5], held: ["ff"]))
    }
}
