import HTTPServer
import JSONReader
import KafkaClient
import Notifications
import Pipeline
import Synchronization

/// Order events over HTTP, in each form of CloudEvents and bare: the record is what a producer of the client's own would
/// have written to `topic.events`, and a batch is one transaction.
package final class EventEndpoints: Sendable {
    private struct Check: ~Copyable {
        var trial: OrderEventTrial
        var reader = JSONReader()
    }

    private let topic: String
    private let wait: Duration
    private let writer: RecordWriter
    private let batches: BatchWriter
    private let surroundings: APIHandler.Surroundings
    private let check: Mutex<Check>

    package init(
        _ configuration: PipelineConfiguration, _ writer: RecordWriter, _ batches: BatchWriter,
        _ surroundings: APIHandler.Surroundings
    ) {
        topic = configuration.topics.events
        wait = configuration.api.wait
        (self.writer, self.batches, self.surroundings) = (writer, batches, surroundings)
        check = Mutex(Check(trial: OrderEventTrial(configuration)))
    }

    package var all: [Endpoint] {
        [Endpoint(Self.post) { call throws(Problem) in try self.take(call) }]
    }

    private func take(_ call: Call) throws(Problem) -> Endpoint.Reply {
        try call.key?.permitEverybody("whom an event reaches the settings say")
        let now = surroundings.now()
        let (records, isBatch) = try check.withLock { check throws(Problem) in
            let body = try EventBody(call.request, &check.reader)
            return (try Self.records(body, call, now, &check.trial), body.isBatch)
        }
        return .later(within: wait, otherwise: Self.unknown) { respond in
            if isBatch {
                self.write(records, call, respond)
            } else if let record = records.first {
                self.write(record, call, respond)
            }
        }
    }

    /// The records of events that the pipeline would take.
    ///
    /// - Throws: what is wrong with each of them.
    private static func records(
        _ body: EventBody, _ call: Call, _ now: WallTime, _ trial: inout OrderEventTrial
    ) throws(Problem) -> [ProducerRecord] {
        var records: [ProducerRecord] = []
        var problems: [(index: Int, problem: Problem)] = []
        for (index, event) in body.events.enumerated() {
            let headers = event.headers.map { (name: $0.name, value: $0.value ?? []) }
            let verdict = trial.verdict(event.value, headers, now: now)
            let faults = verdict.letters.map { Problem.Fault(RequestFinding($0)) }
            if let problem = Problem(faults) { problems.append((index, problem)) }
            records.append(
                ProducerRecord(
                    key: verdict.orderID, value: event.value, headers: event.headers + call.recordHeaders,
                    timestamp: now))
        }
        guard let first = problems.first else { return records }
        guard body.isBatch else { throw first.problem }
        var all = Problem(
            .badRequest, "\(problems.count) of \(body.events.count) events cannot be used, so none was recorded")
        all.faults = Array(
            problems.flatMap { index, problem in
                problem.faults.map { fault in
                    var fault = fault
                    fault.move(into: "/\(index)")
                    return fault
                }
            }.prefix(Problem.mostFaults))
        throw all
    }

    private func write(
        _ record: ProducerRecord, _ call: Call, _ respond: @escaping @Sendable (HTTPResponse) -> Void
    ) {
        let isTaken = writer.give(
            RecordWriter.Entry(topic: topic, record: record) { outcome in
                switch outcome {
                case .written(let partition, let offset):
                    respond(Self.response(call, [RecordPosition(self.topic, partition, offset)]))
                case .notWritten(let error): respond(call.response(to: Self.notRecorded(error)))
                case .unknown: respond(call.response(to: Self.unknown))
                }
            })
        if !isTaken { respond(call.response(to: Self.notRecorded(nil))) }
    }

    private func write(
        _ records: [ProducerRecord], _ call: Call, _ respond: @escaping @Sendable (HTTPResponse) -> Void
    ) {
        // The server looks twice a second for those that have waited too long.
        let deadline = ContinuousClock.now + wait - .milliseconds(600)
        let isTaken = batches.give(
            BatchWriter.Batch(records, deadline: deadline) { outcome in
                switch outcome {
                case .written(let positions): respond(Self.response(call, positions))
                case .notWritten(let error): respond(call.response(to: Self.notRecorded(error)))
                case .unknown: respond(call.response(to: Self.unknown))
                }
            })
        if !isTaken { respond(call.response(to: Self.notRecorded(nil))) }
    }

    private static func response(_ call: Call, _ positions: [RecordPosition]) -> HTTPResponse {
        call.response(.accepted, ["positions": .list(positions.map { .text("\($0)") })])
    }

    /// - Parameter error: why, where Kafka has said it.
    private static func notRecorded(_ error: KafkaError?) -> Problem {
        if error?.kind == .messageTooLarge {
            return Problem(.tooLarge, "an event is larger than the topic allows; nothing was recorded")
        }
        return Problem(.notRecorded, "Kafka does not take events now: nothing was recorded")
    }

    private static let unknown = Problem(
        .outcomeUnknown, "Kafka has not answered in time: all events may have been recorded, or none")
}

extension EventEndpoints {
    private static let event: Document = [
        "type": "object",
        "description": "An event of an order, docs/rules.md §5; in the binary mode beside the headers ce-….",
    ]
    private static let envelope: Document = [
        "type": "object", "required": ["specversion", "id", "source", "type"],
        "properties": [
            "specversion": ["type": "string"], "id": ["type": "string"], "source": ["type": "string"],
            "type": ["type": "string"], "time": ["type": "string"], "datacontenttype": ["type": "string"],
            "data": .object([]),
        ],
    ]
    static let schemas = [(name: "OrderEvent", value: event), (name: "CloudEvent", value: envelope)]

    private static let one: Document = ["$ref": "#/components/schemas/OrderEvent"]
    private static let structured: Document = ["$ref": "#/components/schemas/CloudEvent"]
    private static let batch: Document = ["type": "array", "minItems": 1, "maxItems": 500, "items": structured]

    static let post = APIOperation(
        "postEvents", .post, "/v1/events",
        "Record events of orders: one, or up to 500 of which all are recorded or none.", scopes: [.writeEvents],
        body: APIOperation.Body(
            [
                (EventBody.bare, one), (EventBody.structured, structured),
                (EventBody.batch, batch),
            ], largest: EventBody.mostBytes),
        responses: [
            APIOperation.Response(
                .accepted, "Recorded in Kafka",
                [
                    "type": "object", "required": ["positions"],
                    "properties": [
                        "positions": [
                            "type": "array", "minItems": 1,
                            "items": ["type": "string", "description": "topic/partition/offset"],
                        ]
                    ],
                ])
        ],
        problems: [
            .conflictingValue, .unknownType, .payloadTooLarge, .audienceNotAllowed, .appNotAllowed, .notRecorded,
            .outcomeUnknown,
        ])

    static let operations = [post]
}
