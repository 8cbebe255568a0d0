import Testing

@testable import Pipeline

@Suite("The metadata of a committed offset")
struct OffsetMetadataTests {
    private let metadata = OffsetMetadata(watermark: 7, partitions: 6, newestTimestamp: 100)

    @Test("metadata of a committed offset comes back as it went")
    func metadataRoundTrip() {
        #expect(metadata.text == "v1 w=7 n=6 t=100")
        #expect(OffsetMetadata(parsing: metadata.text) == metadata)
    }

    @Test(
        "a split instant is in the metadata as p, and a p that cannot be read repeats the instant rather than losing it"
    )
    func splitMetadata() {
        let split = OffsetMetadata(
            watermark: TimerWatermark(7, split: 0xAB), partitions: 6, newestTimestamp: 100)
        #expect(split.text == "v1 w=7 p=00000000000000ab n=6 t=100")
        #expect(OffsetMetadata(parsing: split.text) == split)
        for p in ["ab", "00000000000000AB", "00000000000000abc", "x0000000000000ab"] {
            #expect(OffsetMetadata(parsing: "v1 w=7 p=\(p) n=6 t=100") == metadata, "\(p)")
        }
    }

    @Test("the longest metadata has 79 bytes")
    func longestMetadata() {
        let longest = OffsetMetadata(
            watermark: TimerWatermark(.distantPast, split: .max), partitions: .max, newestTimestamp: .distantFuture)
        #expect(longest.text.utf8.count == 79 && OffsetMetadata(parsing: longest.text) == longest)
    }

    @Test("watermarks are compared as pairs, and one without p comes before every one with it")
    func watermarkOrder() {
        let ascending = [
            TimerWatermark(6, split: .max), TimerWatermark(7), TimerWatermark(7, split: 0), TimerWatermark(7, split: 5),
            TimerWatermark(7, split: .max), TimerWatermark(8), TimerWatermark(8, split: 0),
        ]
        for (first, left) in ascending.enumerated() {
            for (second, right) in ascending.enumerated() { #expect((left < right) == (first < second)) }
        }
    }

    @Test(
        "metadata that is not ours has no watermark",
        arguments: ["", "v2 w=1 n=1 t=1", "v1 w=x n=1 t=1", "v1 w=1 n=0 t=1", "v1 w=1"])
    func foreignMetadata(text: String) {
        #expect(OffsetMetadata(parsing: text) == nil)
    }

    @Test("metadata of a later minor version is read for what we know")
    func laterMetadata() {
        #expect(OffsetMetadata(parsing: "v1 w=7 n=6 t=100 x=9") == metadata)
    }
}
