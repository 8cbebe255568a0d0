import Testing

@testable import Broadcasts

@Suite("The metadata of an offset of broadcasts")
struct BroadcastOffsetTests {
    private let idle = BroadcastOffset(offset: 5, partitions: 24, time: 1_751_875_337_000, broadcast: 12)

    @Test("it is read as it was written, with and without a pass")
    func roundTrip() throws {
        #expect(idle.metadata == "v1 n=24 t=1751875337000 b=12")
        #expect(BroadcastOffset(offset: 5, metadata: idle.metadata) == idle)
        var begun = idle
        begun.pass = .init(joinedBelow: 4, key: nil)
        #expect(begun.metadata == "v1 n=24 t=1751875337000 b=12 s=4")
        #expect(BroadcastOffset(offset: 5, metadata: begun.metadata) == begun)
        begun.pass = .init(joinedBelow: 4, key: [UInt8](repeating: 0xFF, count: 32))
        #expect(begun.metadata.hasSuffix(" k=__________________________________________8"))
        #expect(BroadcastOffset(offset: 5, metadata: begun.metadata) == begun)
    }

    @Test("its longest text is below 180 bytes")
    func size() {
        let longest = BroadcastOffset(
            offset: .max, partitions: .max, time: .distantFuture, broadcast: .max,
            pass: .init(joinedBelow: .max, key: [UInt8](repeating: 0, count: 32)))
        #expect(longest.metadata.utf8.count < 180)
    }

    @Test("words of later versions are ignored")
    func later() {
        #expect(BroadcastOffset(offset: 5, metadata: idle.metadata + " z=1") == idle)
    }

    @Test(
        "what is not of broadcasts is nothing",
        arguments: [
            "", "v1 w=1 n=24 t=3", "v1 n=24 t=1", "v1 n=0 t=1 b=2", "v1 n=24 t=1 b=-1", "v1 n=24 t=1 b=2 s=x",
            "v1 n=24 t=1 b=2 s=1 k=AAAA", "v1 n=24 t=1 b=2 k=__________________________________________8",
        ])
    func foreign(text: String) {
        #expect(BroadcastOffset(offset: 5, metadata: text) == nil)
    }
}
