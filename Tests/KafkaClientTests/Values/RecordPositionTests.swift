import Foundation
import Testing

@testable import KafkaClient

@Suite("The position of a record") struct RecordPositionTests {
    @Test("it is a text with topic, partition and offset, also in JSON")
    func text() throws {
        let position = RecordPosition("orders.events", 3, 4_711)
        #expect("\(position)" == "orders.events/3/4711")
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        #expect(String(decoding: try encoder.encode([position]), as: UTF8.self) == #"["orders.events/3/4711"]"#)
    }

    @Test("positions are in the order of topics, then of partitions, then of offsets, each as a number")
    func order() {
        let sorted = [("a", 2, 10), ("a", 10, 2), ("a", 10, 11), ("b", 0, 0)].map {
            RecordPosition($0, Int32($1), Int64($2))
        }
        #expect(sorted.reversed().sorted() == sorted)
    }
}
