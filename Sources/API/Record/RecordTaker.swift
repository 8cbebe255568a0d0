import HTTPServer
import KafkaClient
import Notifications

/// Takes single records, and tells of each what became of it.
package protocol RecordTaker: Sendable {
    /// - Returns: false where it is certain that this one is not written.
    func give(_ entry: RecordWriter.Entry) -> Bool
}

extension RecordWriter: RecordTaker {}

extension RecordTaker {
    /// Writes a record for a request, which is answered here where it was not written.
    ///
    /// - Parameters:
    ///   - settled: called once an outcome of a record that was taken is there.
    ///   - written: gets where it is.
    /// - Returns: false if nobody takes it now.
    @discardableResult
    func write(
        _ record: ProducerRecord, to topic: String, for call: Call,
        _ respond: @escaping @Sendable (HTTPResponse) -> Void, settled: @escaping @Sendable () -> Void = {},
        written: @escaping @Sendable (_ partition: Int32, _ offset: Int64) -> Void
    ) -> Bool {
        let isTaken = give(
            RecordWriter.Entry(topic: topic, record: record) { outcome in
                settled()
                switch outcome {
                case .written(let partition, let offset): written(partition, offset)
                case .notWritten: respond(call.response(to: .notRecorded))
                case .unknown: respond(call.response(to: .outcomeUnknown))
                }
            })
        if !isTaken { respond(call.response(to: .notRecorded)) }
        return isTaken
    }
}

extension Problem {
    static let notRecorded = Problem(.notRecorded, "Kafka does not take it now: it was not recorded")
    static let outcomeUnknown = Problem(
        .outcomeUnknown, "Kafka has not answered in time: it may have been recorded")
}
