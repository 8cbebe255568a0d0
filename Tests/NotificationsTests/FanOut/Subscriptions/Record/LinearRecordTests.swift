import StageSupport
import TestSupport
import Testing

@testable import Notifications

@Suite("The time of subscriptions grows as their records do")
struct LinearRecordTests {
    /// Records of an adversarial shape.
    struct Shape: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var size = 100_000
        var make: @Sendable (_ size: Int) -> [TableRecord]
    }

    private static let good = Subscription.fcm("token")

    /// A record with these members before those of a subscription.
    private static func record(_ members: String) -> [TableRecord] {
        let value = "{" + members + "," + String(decoding: good.encoded().dropFirst(), as: UTF8.self)
        return [TableRecord(key: Array(good.key.utf8), value: Array(value.utf8))]
    }

    private static func repeated(_ text: String, _ size: Int) -> String {
        String(repeating: text, count: size / text.utf8.count)
    }

    static let shapes: [Shape] = [
        Shape(testDescription: "many members") { size in
            record((0..<size / 12).map { #""x\#($0)":1"# }.joined(separator: ","))
        },
        Shape(testDescription: "one member many times") { record(repeated(#""token":"a","#, $0) + #""token":"b""#) },
        Shape(testDescription: "one mistake many times") { record(repeated(#""environment":"x","#, $0) + #""x":1"#) },
        Shape(testDescription: "a long text of escapes") { record(#""locale":"\#(repeated("\\u0041\\n", $0))""#) },
        Shape(testDescription: "a long audience") { size in
            let long = Subscription.fcm("token", of: "place/" + repeated("é", size))
            return [TableRecord(long)]
        },
        Shape(testDescription: "a long token") { [TableRecord(.fcm(repeated("t", $0)))] },
        Shape(testDescription: "a key that is none") { size in
            [TableRecord(key: Array(repeated("k|", size).utf8), value: nil)]
        },
        Shape(testDescription: "many changes of one device", size: 500) { size in
            (0..<size).map { $0 % 2 == 1 ? TableRecord(good) : TableRecord(removing: good) }
        },
        Shape(testDescription: "many devices of one place", size: 500) { size in
            (0..<size).map { TableRecord(.fcm("token-\($0)")) }
        },
    ]

    @Test("twice the size takes at most 2.3 times the time, whatever the shape", arguments: shapes)
    func growth(_ shape: Shape) throws {
        let (once, twice) = (shape.make(shape.size), shape.make(2 * shape.size))
        func run(_ records: [TableRecord]) throws {
            let change = try SubscriptionTable.inMemory().apply(records)
            #expect(change.upserts + change.removals + change.malformed > 0)
        }
        let growth = try Growth({ try run(once) }, twice: { try run(twice) })
        #expect(growth.isLinear, "\(growth)")
    }

    @Test("a mistake that a value repeats is said once")
    func onceOnly() throws {
        let change = try SubscriptionTable.inMemory().apply(
            Self.record(Self.repeated(#""environment":"x","#, 100_000) + #""x":1"#))
        #expect(change.examples.map(\.problems) == [["environment is neither production nor development"]])
    }
}
