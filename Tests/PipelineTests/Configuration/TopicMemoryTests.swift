import Testing

@testable import Pipeline

@Suite("When a topic has forgotten what was deleted") struct TopicMemoryTests {
    private static let (hour, day): (Int64, Int64) = (3_600_000, 86_400_000)

    @Test("a record is gone its retention after the last one of its segment, and an hour for the broker")
    func deleted() {
        let settings = ["cleanup.policy": "delete", "retention.ms": "\(3 * Self.day)", "segment.ms": "\(7 * Self.day)"]
        #expect(TopicMemory.time(settings) == 10 * Self.day + Self.hour)
        #expect(TopicMemory.time(settings.merging(["retention.ms": "-1"]) { $1 }) == nil)
        #expect(TopicMemory.time(settings.merging(["segment.ms": "x"]) { $1 }) == nil)
    }

    @Test("a compacted record and its tombstone are gone by the second compaction after the tombstones' retention")
    func compacted() {
        var settings = [
            "cleanup.policy": "compact", "min.compaction.lag.ms": "\(Self.hour)",
            "max.compaction.lag.ms": "\(Self.day)",
            "delete.retention.ms": "\(14 * Self.day)", "retention.ms": "\(Self.hour)", "segment.ms": "\(Self.hour)",
        ]
        #expect(TopicMemory.time(settings) == 16 * Self.day + Self.hour)
        settings["min.compaction.lag.ms"] = "\(2 * Self.day)"
        #expect(TopicMemory.time(settings) == 18 * Self.day + Self.hour)
        settings["max.compaction.lag.ms"] = "9223372036854775807"
        #expect(TopicMemory.time(settings) == nil)
        settings["cleanup.policy"] = "compact,delete"
        #expect(TopicMemory.time(settings) == 3 * Self.hour)
    }

    @Test("what is not known has no bound")
    func unknown() {
        #expect(TopicMemory.time([:]) == nil)
        #expect(TopicMemory.time(["cleanup.policy": "delete"]) == nil)
    }
}
