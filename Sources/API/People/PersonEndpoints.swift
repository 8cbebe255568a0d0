import HTTPServer
import Notifications
import Pipeline
import Registrar
import StateStore
import Synchronization

/// People: what the shop's backend grants each, and where they are logged in (docs/devices.md).
package final class PersonEndpoints: Sendable {
    private let writer: CommandWriter
    private var view: DeviceView { writer.view }

    package init(_ writer: CommandWriter) {
        self.writer = writer
    }

    package var all: [Endpoint] {
        [
            Endpoint(Self.get) { call throws(Problem) in try self.get(call) },
            Endpoint(Self.patch) { call throws(Problem) in try self.patch(call) },
            Endpoint(Self.getAudiences) { call throws(Problem) in try self.getAudiences(call) },
            Endpoint(Self.putAudiences) { call throws(Problem) in try self.putAudiences(call) },
            Endpoint(Self.devices) { call throws(Problem) in try self.devices(call) },
            Endpoint(Self.logOutOne) { call throws(Problem) in try self.logOutOne(call) },
            Endpoint(Self.logOutAll) { call throws(Problem) in try self.logOutAll(call) },
        ]
    }

    /// The person of the path, whom the caller may know of.
    static func id(_ call: Call) throws(Problem) -> ByteText {
        let id = ByteText(call.pathValues[0])
        guard ByteText("user/\(id)").audience == .user else {
            throw Problem(.badPath, "the id of the person is not one; allowed are 1 to 1,019 bytes")
        }
        try call.key?.permitEverybody("a person may have any audience")
        guard call.user.map({ id == ByteText($0.subject) }) ?? true else { throw notFound }
        return id
    }

    static let notFound = Problem(.notFound, "nothing is known of such a person, or it is another one")

    // MARK: Looking

    private func get(_ call: Call) throws(Problem) -> Endpoint.Reply {
        try look(call) { person throws(Problem) in try self.shown(person, call) }
    }

    private func getAudiences(_ call: Call) throws(Problem) -> Endpoint.Reply {
        try look(call) { person in call.response(.ok, ["audiences": person.audiences], person.tag) }
    }

    private func look(
        _ call: Call, _ answer: @escaping @Sendable (KnownPerson) throws(Problem) -> HTTPResponse
    ) throws(Problem) -> Endpoint.Reply {
        let (id, view) = (try Self.id(call), view)
        return try writer.look(call) { () throws(StoreError) in
            try view.person(id)?.revision
        } _: { () throws(Problem) in
            guard let person = try self.person(id) else { throw Self.notFound }
            return .now(try answer(person))
        }
    }

    private func person(_ id: ByteText) throws(Problem) -> KnownPerson? {
        try view.read { view throws(StoreError) in
            let person = KnownPerson(
                id: id, state: try view.person(id), devices: try view.devices(of: id).count,
                erasedAt: try view.erasure(of: id))
            return person.isKnown ? person : nil
        }
    }

    private func devices(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let id = try Self.id(call)
        try Self.refuseTokenOfDevice(call)
        let limit = try call.limit()
        let after = call.value("cursor")
        let view = view
        return try writer.look(call) {
            nil
        } _: { () throws(Problem) in
            let (person, devices) = try view.read { view throws(StoreError) in
                (try view.person(id), try view.devices(of: id))
            }
            return .now(call.response(.ok, Self.page(devices, person, limit, after)))
        }
    }

    private static func page(
        _ devices: [DeviceState], _ person: PersonState?, _ limit: Int, _ after: String?
    ) -> Document {
        let rest = devices.filter { device in after.map { device.id.text > $0 } ?? true }
        let items = rest.prefix(limit)
        var members: [(name: String, value: Document)] = [
            ("items", .list(items.map { .object($0.members(person)) }))
        ]
        if items.count < rest.count, let last = items.last { members.append(("next", .text(last.id.text))) }
        return .object(members)
    }

    // MARK: Changes

    private func patch(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let id = try Self.id(call)
        let change = try PersonBody.patch(call.request.body, of: id)
        if call.user != nil, change.audiences != nil {
            throw Problem(.audienceNotAllowed, "the audiences of a person are granted by the backend")
        }
        return try reply(to: call, by: change) { person, call throws(Problem) in try self.shown(person, call) }
    }

    private func putAudiences(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let change = try PersonBody.audiences(call.request.body, of: try Self.id(call))
        return try reply(to: call, by: change) { person, call in
            call.response(.ok, ["audiences": person.audiences], person.tag)
        }
    }

    private func reply(
        to call: Call, by change: PersonChange,
        _ answer: @escaping @Sendable (KnownPerson, Call) throws(Problem) -> HTTPResponse
    ) throws(Problem) -> Endpoint.Reply {
        let (view, id) = (view, change.person)
        var call = call
        // The change has what is needed of it.
        call.request.body = []
        return try writer.reply(to: call, "person", by: .changePerson(change)) { verdict, _ throws(StoreError) in
            let revision = try view.person(id)?.revision
            return switch verdict {
            case .created(let made), .changed(let made), .unchanged(let made): revision.map { $0 >= made } ?? false
            case .gone, .erased, .refused, .malformed: true
            }
        } _: { _, call throws(Problem) in
            guard let person = try self.person(id) else {
                // It was changed, and erased since.
                throw Self.notFound
            }
            return try answer(person, call)
        }
    }

    private func shown(_ person: KnownPerson, _ call: Call) throws(Problem) -> HTTPResponse {
        call.response(.ok, person.document, person.tag)
    }

    // MARK: Logging out

    private func logOutOne(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let person = try Self.id(call)
        guard let id = DeviceID(call.pathValues[1]) else {
            throw Problem(.badPath, "the id of the device is not one; allowed are \(DeviceID.allowed)")
        }
        if let only = call.user?.device, only != id { try Self.refuseTokenOfDevice(call) }
        let author = try call.author
        return writer.later { respond in self.logOut([id], of: person, by: author, call, respond) }
    }

    private func logOutAll(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let person = try Self.id(call)
        try Self.refuseTokenOfDevice(call)
        let (author, view) = (try call.author, view)
        // One that was logged in a moment ago, at another process, is meant as well.
        return writer.onceKnown(call) { respond in
            do throws(Problem) {
                let ids = try view.read { view throws(StoreError) in try view.devices(of: person).map(\.id) }
                self.logOut(ids, of: person, by: author, call, respond)
            } catch {
                respond(call.response(to: error))
            }
        }
    }

    private static func refuseTokenOfDevice(_ call: Call) throws(Problem) {
        guard call.user?.device == nil else { throw Problem(.notFound, "the token is for one device alone") }
    }

    /// A device that has another person by then stays as it is.
    private func logOut(
        _ ids: [DeviceID], of person: ByteText, by author: Author, _ call: Call,
        _ respond: @escaping @Sendable (HTTPResponse) -> Void
    ) {
        guard !ids.isEmpty else { return respond(call.response(.noContent)) }
        let state = LogoutState(open: ids.count)
        for id in ids {
            var change = DeviceChange(id)
            change.person = .remove
            let command = Command(.changeDevice(change), by: author, if: .isOf(person))
            // The first answer counts: of what is not recorded the client hears at once, and repeats the whole.
            writer.write(command, for: call, respond, isVisible: view.shows(id)) { outcome, offset in
                if let undecided = state.ended(outcome, offset) {
                    respond(
                        undecided.isEmpty ? call.response(.noContent) : CommandWriter.recorded(undecided, call))
                }
            }
        }
    }
}

/// How many logouts have no outcome yet, and which were not decided. Any thread.
private final class LogoutState: Sendable {
    private let state: Mutex<(open: Int, undecided: [Int64])>

    init(open: Int) {
        state = Mutex((open, []))
    }

    /// - Returns: the offsets of those that were not decided, once each has its outcome.
    func ended(_ outcome: CommandWriter.Outcome, _ offset: Int64) -> [Int64]? {
        state.withLock { state in
            state.open -= 1
            switch outcome {
            case .recorded: state.undecided.append(offset)
            // Refused is a device that is not the person's any more.
            case .decided: break
            }
            return state.open == 0 ? state.undecided : nil
        }
    }
}

/// What a client sees of a person.
struct KnownPerson {
    var id: ByteText
    /// Nil: nothing was set.
    var state: PersonState?
    var devices: Int
    /// Nil: it never was, as far as is known.
    var erasedAt: WallTime?

    var isKnown: Bool { state != nil || devices > 0 || erasedAt != nil }

    var tag: [(name: String, value: String)] { state.map { [("ETag", "\"\($0.revision)\"")] } ?? [] }

    var audiences: Document { .list((state?.audiences ?? []).map { .text($0.text) }) }

    var document: Document {
        var members: [(name: String, value: Document)] = [("person", .text(id.text))]
        if let state {
            members.append(("revision", .integer(state.revision)))
            if let locale = state.locale { members.append(("locale", .text(locale.text))) }
            if let timeZone = state.timeZone { members.append(("time_zone", .text(timeZone.text))) }
        }
        members += [("audiences", audiences), ("devices", .integer(Int64(devices)))]
        if let erasedAt { members.append(("erased_at", .text(erasedAt.iso8601))) }
        return .object(members)
    }
}

extension Call {
    /// How many items a list may have.
    func limit() throws(Problem) -> Int {
        guard let text = value("limit") else { return 100 }
        guard let limit = Int(text), (1...1_000).contains(limit) else {
            throw Problem(.badPath, "limit is no number of items; allowed are 1 to 1000")
        }
        return limit
    }
}
