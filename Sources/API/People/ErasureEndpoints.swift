import HTTPServer
import Notifications
import Pipeline
import Registrar
import StateStore

/// Erases a person, and says when the last byte is gone (docs/devices.md).
package final class ErasureEndpoints: Sendable {
    /// So long after an erasure a push may still be sent, in milliseconds.
    private let lastPush: Int64
    /// With `topic.control`: ``ControlView/soon`` after the transaction, which takes a moment.
    private static let withdrawn: Int64 = 30_000
    private let writer: CommandWriter
    private let reads: TopicReads
    private let settings: TopicSettings
    private let topics: [String]

    /// - Parameter configuration: with `topic.commands`.
    package init(
        _ configuration: PipelineConfiguration, _ writer: CommandWriter, _ reads: TopicReads, _ settings: TopicSettings
    ) {
        // Fan-out sees the subscriptions so much later at most. What waits at a sender then is withdrawn, or else sent until it
        // expires.
        lastPush =
            configuration.subscriptionsMaxLag.wholeMilliseconds
            + (configuration.topics.control.isEmpty ? ControlView.longest : Self.withdrawn)
        topics = configuration.topicsWithPeople
        (self.writer, self.reads, self.settings) = (writer, reads, settings)
    }

    package var all: [Endpoint] { [Endpoint(Self.erase) { call throws(Problem) in try self.erase(call) }] }

    private func erase(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let person = try PersonEndpoints.id(call)
        let condition = try CommandWriter.condition(call, "person")
        let command = Command(.erasePerson(person), by: try call.author, if: condition)
        if let known = settings.known() {
            return writer.later { respond in self.erase(person, command, call, known, respond) }
        }
        let time = TopicReads.longest + writer.wait * 2
        return try reads.reply(to: call, within: time, otherwise: .outcomeUnknown) { _, respond in
            self.erase(person, command, call, self.settings.renew(), respond)
        }
    }

    private func erase(
        _ person: ByteText, _ command: Command, _ call: Call, _ settings: TopicSettings.Known,
        _ respond: @escaping @Sendable (HTTPResponse) -> Void
    ) {
        let view = writer.view
        // Of somebody who was erased before, the receipt is to have this time.
        let before = (try? view.erasure(of: person)) ?? nil
        writer.write(command, for: call, respond) { verdict, offset throws(StoreError) in
            switch verdict {
            case .erased:
                // Whoever came back since is newer than the command.
                let devices = try view.devices(of: person)
                let isGone = try view.person(person).map { $0.revision > offset } ?? true
                return try view.erasure(of: person) != before && isGone && devices.allSatisfy { $0.revision > offset }
            case .created, .changed, .unchanged, .gone, .refused, .malformed: return true
            }
        } _: { outcome, offset in
            respond(
                CommandWriter.response(to: outcome, of: offset, call, "person") { verdict, call throws(Problem) in
                    guard case .erased(let devices) = verdict else {
                        throw Problem(.defect, "the registrar has not erased the person")
                    }
                    let erased = try view.read { view throws(StoreError) in try view.erasure(of: person) }
                    guard let erased else { throw Problem(.notYet, "the person is erased; when is not known here yet") }
                    return call.response(.ok, self.receipt(person, devices, at: erased, settings))
                })
        }
    }

    private func receipt(
        _ person: ByteText, _ devices: Int, at erased: WallTime, _ settings: TopicSettings.Known
    ) -> Document {
        let gone = topics.map { topic -> (name: String, value: Document) in
            let time = settings[topic].flatMap { TopicMemory.time($0) }
            return (topic, time.map { .text((erased + $0).iso8601) } ?? .null)
        }
        return [
            "person": .text(person.text), "erased_at": .text(erased.iso8601), "devices": .integer(Int64(devices)),
            "last_push_possible": .text((erased + lastPush).iso8601), "gone_from": .object(gone),
        ]
    }
}

extension ErasureEndpoints {
    static let erase = APIOperation(
        "erasePerson", .delete, "/v1/people/{person}",
        "Erase a person: every device, every subscription, and what was set. It says when the last byte is gone.",
        scopes: [.erasePeople], pathParameters: [PersonEndpoints.person], headers: [PersonEndpoints.ifMatch],
        responses: [
            APIOperation.Response(
                .ok, "Decided: the person is erased, also where nothing was known",
                ["$ref": "#/components/schemas/Erasure"]), DeviceEndpoints.recorded,
        ],
        problems: [
            .notYet, .audienceNotAllowed, .appNotAllowed, .notRecorded, .outcomeUnknown, .revision,
        ])

    static let operations = [erase]

    private static let time: Document = ["type": "string", "format": "date-time"]

    static let schemas: [(name: String, value: Document)] = [
        (
            "Erasure",
            [
                "type": "object", "required": ["person", "erased_at", "devices", "last_push_possible", "gone_from"],
                "properties": [
                    "person": ["type": "string"], "erased_at": time,
                    "devices": ["type": "integer", "description": "How many the person had."],
                    "last_push_possible": [
                        "type": "string", "format": "date-time",
                        "description": "A push that was on its way is not sent after this time.",
                    ],
                    "gone_from": [
                        "type": "object",
                        "description":
                            "By topic, when nothing of the person is left in it; null: its settings give no time, or they are not known.",
                        "additionalProperties": ["anyOf": [time, ["type": "null"]]],
                    ],
                ],
            ]
        )
    ]
}
