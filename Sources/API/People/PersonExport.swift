import HTTPServer
import JSONReader
import KafkaClient
import Notifications
import Pipeline
import Registrar
import Replay
import StateStore

/// What the tables and the log of commands say of a person, a line of JSON each: the person, each device, and the commands
/// that the log still has. Addresses are hashes: nobody can send with it.
package final class PersonExport: Sendable {
    private let configuration: PipelineConfiguration
    private let view: DeviceView
    private let reads: TopicReads
    private let logger: Logger

    /// - Parameter configuration: with `topic.commands`.
    package init(_ configuration: PipelineConfiguration, _ view: DeviceView, _ reads: TopicReads, logger: Logger) {
        (self.configuration, self.view, self.reads, self.logger) = (configuration, view, reads, logger)
    }

    package var all: [Endpoint] { [Endpoint(Self.export) { call throws(Problem) in try self.export(call) }] }

    private func export(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let id = try PersonEndpoints.id(call)
        try view.refuseUnlessFresh(within: configuration.subscriptionsMaxLag)
        let (state, devices, erased) = try view.read { view throws(StoreError) in
            (try view.person(id), try view.devices(of: id), try view.erasure(of: id))
        }
        let person = KnownPerson(id: id, state: state, devices: devices.count, erasedAt: erased)
        var lines: [Document] = [["person": person.document]]
        lines += devices.map { ["device": .object($0.members(state))] }
        let (known, owned) = (lines, Set(devices.map(\.id)))
        return try reads.reply(to: call) { turn in
            let history = try CommandReads(self.configuration, turn, logger: self.logger).history(
                of: id, owning: owned)
            guard person.isKnown || !history.isEmpty else { throw PersonEndpoints.notFound }
            let text = (known + history.map { ["command": $0] }).map { $0.json + "\n" }.joined()
            return HTTPResponse(
                contentType: Self.type, headers: call.headers + [("Cache-Control", "no-store")], body: text)
        }
    }
}

extension CommandReads {
    /// What the log says of a person, in its order.
    ///
    /// - Parameter owned: the devices that are the person's now.
    func history(of person: ByteText, owning owned: Set<DeviceID>) throws -> [Document] {
        var consumer = try Consumer(assigning: configuration.kafka, logger: logger.clientSink)
        let bounds = try consumer.bounds(of: configuration.topics.commands, timeout: TopicReads.timeout)
        var reader = JSONReader()
        var history = PersonHistory(of: person, owning: owned)
        var found: [Document] = []
        var (count, bytes) = (0, 0)
        try TopicReader.read(bounds, of: configuration.topics.commands, with: &consumer) { batch, indices in
            if turn.isStopped { throw ReadingStopped() }
            for index in indices {
                guard let value = batch[index].value, let time = batch[index].timestamp else { continue }
                (count, bytes) = (count + 1, bytes + value.count)
                guard count <= TopicReads.mostRecords, bytes <= TopicReads.mostBytes else { throw TooMuchToRead() }
                guard let command = Command(Array(value), &reader),
                    let line = history.take(command, at: batch[index].offset, time)
                else { continue }
                found.append(line)
            }
        }
        return found
    }
}

extension PersonExport {
    private static let type = "application/x-ndjson"

    static let export = APIOperation(
        "exportPerson", .get, "/v1/people/{person}/export",
        "What the tables and the log of commands say of a person: a line of JSON for the person, each device, each command.",
        scopes: [.readPeople], pathParameters: [PersonEndpoints.person],
        responses: [
            APIOperation.Response(
                .ok, "Lines with person, device or command; addresses are hashes", ["type": "string"], type: type)
        ], problems: [.notYet, .incomplete, .audienceNotAllowed, .appNotAllowed])

    static let operations = [export]
}
