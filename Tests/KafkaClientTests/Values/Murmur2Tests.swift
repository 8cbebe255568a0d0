import Foundation
import Testing

@testable import KafkaClient

@Suite("Murmur2")
struct Murmur2Tests {
    @Test(
        "hashes as Kafka's own test of Utils.murmur2 expects",
        arguments: [
            ("21", -973_932_308), ("foobar", -790_332_482), ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971), ("abc", 479_470_107),
        ] as [(String, Int32)])
    func vectors(key: String, hash: Int32) {
        #expect(Murmur2.hash(key.utf8) == hash)
        #expect(Murmur2.hash(key.bytes) == hash)
        #expect(Murmur2.partition(of: key.utf8, count: 1000) == (hash & Int32.max) % 1000)
    }

    @Test("keys of every length and any bytes hash as in Java")
    func javaVectors() throws {
        // Tests/Oracles/test_murmur2.py compares these with Java's hashes.
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let file = folder.appending(path: "../../Oracles/murmur2.tsv").standardized
        let text = try String(contentsOf: file, encoding: .utf8)
        let rows = text.split(separator: "\n").map { $0.split(separator: "\t", omittingEmptySubsequences: false) }
        #expect(rows.count > 250)
        for row in rows {
            let digits = Array(row[0])
            let key = stride(from: 0, to: digits.count, by: 2).compactMap {
                UInt8(String(digits[$0...($0 + 1)]), radix: 16)
            }
            #expect(Murmur2.hash(key) == Int32(row[1]), "\(row[0])")
        }
    }

    @Test("a key that has no contiguous storage hashes like its bytes")
    func lazySequence() {
        #expect(Murmur2.hash("foobar".utf8.lazy.map { $0 }) == -790_332_482)
    }

    @Test("an empty key has a partition")
    func emptyKey() {
        #expect((0..<7).contains(Murmur2.partition(of: [], count: 7)))
    }
}
