import HTTPServer
import KafkaClient
import Notifications
import Pipeline
import Registrar
import StateStore

/// Devices: registers one, forgets it, and says what is known of it (docs/devices.md). What is to be changed is written as a
/// command, and the answer is the registrar's.
package final class DeviceEndpoints: Sendable {
    private let configuration: PipelineConfiguration
    private let writer: RecordWriter
    private let follower: DeviceFollower
    private let board: VerdictBoard
    private let surroundings: APIHandler.Surroundings

    /// - Parameter configuration: with `topic.commands`.
    package init(
        _ configuration: PipelineConfiguration, _ writer: RecordWriter, _ follower: DeviceFollower,
        _ board: VerdictBoard, _ surroundings: APIHandler.Surroundings
    ) {
        self.configuration = configuration
        (self.writer, self.follower, self.board, self.surroundings) = (writer, follower, board, surroundings)
    }

    package var all: [Endpoint] {
        [
            Endpoint(Self.put) { call throws(Problem) in try self.put(call) },
            Endpoint(Self.delete) { call throws(Problem) in try self.delete(call) },
            Endpoint(Self.get) { call throws(Problem) in try self.get(call) },
            Endpoint(Self.logOut) { call throws(Problem) in try self.logOut(call) },
        ]
    }

    private func put(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let id = try Self.id(call)
        var change = try DeviceBody.read(call.request.body, of: id)
        if let user = call.user { try Self.limit(&change, to: user) }
        return try write(.changeDevice(change), of: id, call)
    }

    private func delete(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let id = try Self.id(call)
        return try write(.deleteDevice(id), of: id, call)
    }

    /// The device stays, and is nobody's: with the person what was granted to the person's session leaves.
    private func logOut(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let id = try Self.id(call)
        var change = DeviceChange(id)
        change.person = .remove
        return try write(.changeDevice(change), of: id, call)
    }

    /// Of what a user asks for: the own person, and no more than the token grants.
    private static func limit(_ change: inout DeviceChange, to user: UserToken) throws(Problem) {
        let person = ByteText(user.subject)
        switch change.person {
        case .keep, .remove: change.person = .set(person)
        case .set(person): break
        case .set: throw Problem(.audienceNotAllowed, "the token is of another person")
        }
        if let refused = change.audiences?.first(where: { !user.permits(audience: $0.text) }) {
            throw Problem(.audienceNotAllowed, "the token, or its issuer, does not grant \(refused)")
        }
        guard user.permits(app: change.app?.text ?? "") else {
            throw Problem(.appNotAllowed, "the token's issuer may not speak for this app")
        }
    }

    private func get(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let id = try Self.id(call)
        guard follower.isFresh(within: configuration.subscriptionsMaxLag) else {
            throw Problem(.notYet, "what is known of devices is too old: Kafka does not answer in time")
        }
        guard let state = try device(id), call.user.map({ state.person == ByteText($0.subject) }) ?? true else {
            throw Problem(.notFound, "there is no such device, or it is another person's")
        }
        return .now(try response(.ok, state, call))
    }

    private static func id(_ call: Call) throws(Problem) -> DeviceID {
        guard let id = DeviceID(call.pathValues[0]) else {
            throw Problem(.badPath, "the id of the device is not one; allowed are \(DeviceID.allowed)")
        }
        try call.key?.permitEverybody("a device may have any audience")
        if let only = call.user?.device, only != id { throw Problem(.notFound, "the token is for another device") }
        return id
    }

    private func device(_ id: DeviceID) throws(Problem) -> DeviceState? {
        do throws(StoreError) {
            return try follower.device(id)
        } catch {
            throw Problem(.notYet, "the table of devices cannot be read: it is filled again")
        }
    }

    // MARK: Commands

    /// What If-Match and If-None-Match ask for.
    private static func condition(_ call: Call) throws(Problem) -> Condition? {
        let (match, none) = (call.request.header("if-match"), call.request.header("if-none-match"))
        switch (match, none) {
        case (nil, nil): return nil
        case (nil, let none?):
            guard EntityTag.condition(none) == .any else {
                throw Problem(.badHeader, "If-None-Match cannot be read; allowed is *")
            }
            return .isNew
        case (let match?, nil):
            switch EntityTag.condition(match) {
            case .any: return .exists
            case .one(let tags):
                guard tags.count == 1, let revision = tags.first.flatMap({ Int64($0.dropFirst().dropLast()) }) else {
                    break
                }
                return .revision(revision)
            case nil: break
            }
            throw Problem(.badHeader, "If-Match cannot be read; allowed are * and the ETag of the device")
        case (_?, _?):
            throw Problem(.badHeader, "If-Match and If-None-Match contradict each other; allowed is one of them")
        }
    }

    private static func author(_ call: Call) throws(Problem) -> Author {
        if let user = call.user { return .user(ByteText(user.subject), issuedAt: user.issuedAt) }
        guard let key = call.key else { throw Problem(.defect, "a change without a key") }
        return .key(key.id)
    }

    private func write(_ action: Action, of id: DeviceID, _ call: Call) throws(Problem) -> Endpoint.Reply {
        let command = Command(action, by: try Self.author(call), if: try Self.condition(call))
        let record = ProducerRecord(
            key: nil, value: command.json, headers: call.recordHeaders, partition: 0, timestamp: surroundings.now())
        let unknown = Problem(.outcomeUnknown, "Kafka has not answered in time: it may have been recorded")
        let notRecorded = Problem(.notRecorded, "Kafka does not take it now: it was not recorded")
        let wait = configuration.api.wait
        let (topic, writer, board) = (configuration.topics.commands, writer, board)
        // The answer has a little more time than what it waits for, so that it says what is known.
        return .later(within: wait * 2, otherwise: unknown) { respond in
            let deadline = ContinuousClock.now + wait
            let isTaken = writer.give(
                RecordWriter.Entry(topic: topic, record: record) { outcome in
                    switch outcome {
                    case .written(_, let offset):
                        board.wait(for: offset, until: deadline) {
                            self.isVisible($0, of: id, since: offset)
                        } _: { answer in
                            respond(self.response(to: answer, of: offset, id, call))
                        }
                    case .notWritten: respond(call.response(to: notRecorded))
                    case .unknown: respond(call.response(to: unknown))
                    }
                })
            if !isTaken { respond(call.response(to: notRecorded)) }
        }
    }

    /// Whether a GET shows what the verdict of a command says, or something newer.
    private func isVisible(_ verdict: Verdict, of id: DeviceID, since command: Int64) -> Bool {
        let revision: Int64?
        do throws(StoreError) {
            revision = try follower.device(id)?.revision
        } catch {
            return false
        }
        return switch verdict {
        case .created(let made), .changed(let made), .unchanged(let made): revision.map { $0 >= made } ?? false
        case .gone: revision.map { $0 > command } ?? true
        case .erased, .refused, .malformed: true
        }
    }

    private func response(
        to answer: VerdictBoard.Answer, of command: Int64, _ id: DeviceID, _ call: Call
    ) -> HTTPResponse {
        do throws(Problem) {
            switch answer {
            case .notYet:
                return call.response(.accepted, ["command": .integer(command), "status": "recorded"])
            case .decided(.changed) where call.operation?.name == Self.logOut.name,
                .decided(.unchanged) where call.operation?.name == Self.logOut.name:
                return call.response(.noContent)
            case .decided(.created): return try changed(.created, id, call)
            case .decided(.changed), .decided(.unchanged): return try changed(.ok, id, call)
            case .decided(.gone): return call.response(.noContent)
            case .decided(.refused(let refusal)): throw Problem(refusal)
            case .decided(.erased), .decided(.malformed):
                throw Problem(.defect, "the registrar cannot read the command")
            }
        } catch {
            return call.response(to: error)
        }
    }

    private func changed(
        _ status: HTTPResponse.Status, _ id: DeviceID, _ call: Call
    ) throws(Problem) -> HTTPResponse {
        guard let state = try device(id) else {
            // It was changed, and deleted since.
            throw Problem(.notFound, "it was done, and the device was deleted since")
        }
        return try response(status, state, call)
    }

    private func response(
        _ status: HTTPResponse.Status, _ state: DeviceState, _ call: Call
    ) throws(Problem) -> HTTPResponse {
        let person: PersonState?
        do throws(StoreError) {
            person = try state.person.flatMap { id throws(StoreError) in try follower.person(id) }
        } catch {
            throw Problem(.notYet, "the table of people cannot be read: it is filled again")
        }
        return call.response(status, state.document(person), [("ETag", "\"\(state.revision)\"")])
    }
}

extension Problem {
    fileprivate init(_ refusal: Refusal) {
        switch refusal {
        case .notFound, .notByCredential: self.init(.notFound, "there is no such device")
        case .notThisDevice:
            self.init(.notFound, "there is no such device of this person; who has its present address may send that")
        case .personErased:
            self.init(.personErased, "the person was erased after the token was issued; needed is a new one")
        case .preconditionFailed:
            self.init(.revision, "the device has another version, or is not there, or is there already")
        case .staleGeneration(let current):
            self.init(.staleGeneration, "the device has the generation \(current), and this is an older one")
        case .tooManyAudiences(let most):
            self.init(.badRequest, "audiences has too many; allowed are \(most)")
        case .invalid(let problems):
            self.init(.badRequest, problems.first ?? "the device is not allowed")
            faults = problems.map { Fault(pointer: "", .badRequest, detail: $0) }
        }
    }
}
