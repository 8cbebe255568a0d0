import KafkaClient
import Pipeline
import Testing

@testable import Replay

@Suite("Where a re-drive stands")
struct RedriveCursorTests {
    private var cursor: RedriveCursor {
        var cursor = RedriveCursor()
        cursor.request = "00112233445566aa"
        cursor.range = 12..<Int64.max
        cursor.from = -5
        cursor.began = 1_751_871_600_000
        cursor.devices = 10_000
        cursor.sent = 4_000
        cursor.refused = 3
        cursor.key = Array(0...44)
        return cursor
    }

    @Test("a cursor is read as it was written, and fits into an offset's metadata")
    func roundTrip() throws {
        var cursor = cursor
        #expect(RedriveCursor(cursor.text) == cursor)
        for reason in RedriveOmission.allCases { cursor.leftOut[reason] = 7_000 }
        #expect(
            RedriveCursor(cursor.text) == cursor && cursor.settled == 4_003 + 7_000 * RedriveOmission.allCases.count)
        cursor.isDone = true
        #expect(RedriveCursor(cursor.text + " later=1") == cursor)
        #expect(
            try OwnedPosition(.init(offset: 12, text: cursor.text), owner: "12345678-1234").committed().metadata.utf8
                .count < 500)
        var first = RedriveCursor()
        first.request = "x"
        #expect(RedriveCursor(first.text) == first)
    }

    @Test("what is no cursor is refused")
    func refusals() {
        let text = cursor.text
        for wrong in [
            "", "x", "v1 w=1 n=2 t=3", text.replacing("request=", with: "r="), text.replacing("12..", with: "12.."),
            text.replacing("range=12", with: "range=-12"), text.replacing("devices=", with: "devices=-"),
            text.replacing("sent=4000", with: "sent=many"), text.replacing("key=", with: "key=!"),
            text + " left=expired",
            text + " left=expired:-1", text + " left=never:1", text + " left=",
        ] where wrong != text {
            #expect(RedriveCursor(wrong) == nil, "\(wrong)")
        }
    }

    private func place(_ partition: Int32, of topic: String = "orders.events") -> TopicPartition {
        TopicPartition(topic: topic, partition: partition)
    }

    private func resume(_ positions: [TopicPartition: RedrivePosition]) throws -> RedriveResume? {
        try RedriveResume(positions, of: ToyPipeline.topics, id: "x")
    }

    @Test("positions of pipelines, of other commands and of other versions are no re-drive's")
    func positions() throws {
        let own = OwnedPosition(.init(offset: 7, text: cursor.text), owner: "me")
        #expect(try OwnedPosition(own.committed(), group: "g") == own)
        for metadata in ["", "v1 w=1 n=2 t=3", "carillon-replay/2 me \(cursor.text)", "carillon-replay/1 me"] {
            #expect(throws: ReplayRefusal.self) {
                try OwnedPosition(CommittedOffset(offset: Offset(1), metadata: metadata), group: "g")
            }
        }
        #expect(throws: ReplayRefusal.self) {
            try OwnedPosition(.init(offset: 1, text: String(repeating: "x", count: 4_096)), owner: "me").committed()
        }
        #expect(throws: ReplayRefusal.self) { try resume([place(0): .init(offset: 1, text: "of=another")]) }
    }

    @Test("the counts of the partition with the most pushes are current; each range is its partition's own")
    func resume() throws {
        var one = cursor
        var other = cursor
        other.range = 0..<3
        other.sent = 4_500
        other.key = [9]
        let found = try #require(
            try resume([place(0): .init(offset: 1, text: one.text), place(1): .init(offset: 1, text: other.text)]))
        #expect(found.cursor == other && found.ranges == [0: one.range, 1: 0..<3])
        one.sent = 4_500
        one.isDone = true
        let done = try #require(
            try resume([place(0): .init(offset: 1, text: one.text), place(1): .init(offset: 1, text: other.text)]))
        #expect(done.cursor.isDone)
        let both = try resume([
            place(0): .init(offset: 1, text: one.text),
            place(0, of: "notifications.requests"): .init(offset: 1, text: other.text),
        ])
        #expect(both?.ranges == [0: one.range, SourcePartition(.requests, 0): 0..<3])
        #expect(try resume([:]) == nil)
        var request = RedriveRequest()
        request.digest = "other"
        #expect(throws: ReplayRefusal.self) { try found.check(request, id: "x") }
        request.digest = cursor.request
        #expect(throws: Never.self) { try found.check(request, id: "x") }
    }

    @Test("an id has 1 to 100 characters that are good in names; one that is made has the time in it")
    func ids() {
        for good in ["a", "2026-11-22_x.Y", String(repeating: "z", count: 100)] {
            #expect(RedriveID(good)?.text == good)
        }
        for bad in ["", "a b", "a/b", "ä", "a\n", String(repeating: "z", count: 101)] { #expect(RedriveID(bad) == nil) }
        let made = RedriveID(time: "2026-11-22T05:30:00.123Z", random: 42)
        #expect(made.text == "20261122T053000-0000016")
        #expect(RedriveID(made.text) == made)
    }

    @Test("a transaction has at most one second's worth or 5,000 records")
    func pace() {
        #expect(Pace(perSecond: 100).recordsAtOnce == 100)
        #expect(Pace(perSecond: 100_000).recordsAtOnce == 5_000)
    }
}
