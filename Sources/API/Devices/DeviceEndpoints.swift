import HTTPServer
import Notifications
import Pipeline
import Registrar
import StateStore
import Synchronization
import Time

/// Devices: registers one, changes and forgets it, and says what is known of it (docs/devices.md). What is to be changed is
/// written as a command, and the answer is the registrar's.
package final class DeviceEndpoints: Sendable {
    private let writer: CommandWriter
    /// Devices that users have made, by person.
    private let made = Mutex(WindowCounter(most: 20, within: .seconds(86_400)))
    private var view: DeviceView { writer.view }

    package init(_ writer: CommandWriter) {
        self.writer = writer
    }

    package var all: [Endpoint] {
        [
            Endpoint(Self.put) { call throws(Problem) in try self.put(call) },
            Endpoint(Self.patch) { call throws(Problem) in try self.patch(call) },
            Endpoint(Self.delete) { call throws(Problem) in try self.delete(call) },
            Endpoint(Self.get) { call throws(Problem) in try self.get(call) },
            Endpoint(Self.logOut) { call throws(Problem) in try self.logOut(call) },
            Endpoint(Self.addAudience) { call throws(Problem) in try self.addAudience(call) },
            Endpoint(Self.removeAudience) { call throws(Problem) in try self.removeAudience(call) },
        ]
    }

    // MARK: Changes

    private func put(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let id = try Self.id(call)
        var call = call
        var change = try DeviceBody.read(call.request.body, of: id, isWhole: true)
        // The change has what is needed of it.
        call.request.body = []
        if let user = call.user { try user.limit(&change) }
        let known = try view.read { view throws(StoreError) in try view.device(id) }
        // Of what is not known here another process may have made the credential.
        let isNew = known == nil && writer.isFresh
        let secret = try Self.asksForSecret(call) || isNew ? DeviceCredential.makeSecret() : nil
        change.newCredential = secret.map(DeviceCredential.hash)
        if let known {
            if try writer.isUnchanged(known, by: change, call) {
                return .now(try response(.ok, known, call.at(known.revision)))
            }
        } else if let user = call.user {
            try countNew(of: user)
        }
        return try reply(to: call, by: change) { verdict, call throws(Problem) in
            switch verdict {
            case .created: try self.shown(.created, id, call, secret: secret)
            case .changed, .unchanged, .gone, .erased, .refused, .malformed:
                try self.shown(.ok, id, call, secret: secret)
            }
        }
    }

    /// A device stays when its person logs out: without a bound a user could make any number. What is not decided yet counts.
    private func countNew(of user: UserToken) throws(Problem) {
        let now = writer.now
        let isAllowed = made.withLock { made in
            guard made.isBelow(user.subject, at: now) else { return false }
            made.count(user.subject, at: now)
            return true
        }
        guard isAllowed else {
            throw Problem(tooMany: "the person has registered too many new devices within a day", retryAfter: 3_600)
        }
    }

    private func patch(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let id = try Self.id(call)
        var call = call
        var change = try DeviceBody.read(call.request.body, of: id, isWhole: false)
        call.request.body = []
        if let user = call.user { try user.limit(&change) }
        return try reply(to: call, by: change) { _, call throws(Problem) in try self.shown(.ok, id, call) }
    }

    private func delete(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let id = try Self.id(call)
        return try writer.reply(to: call, "device", by: .deleteDevice(id), isVisible: view.shows(id)) { _, call in
            call.response(.noContent)
        }
    }

    /// The device stays, and is nobody's: with the person what was granted to the person's session leaves.
    private func logOut(_ call: Call) throws(Problem) -> Endpoint.Reply {
        var change = DeviceChange(try Self.id(call))
        change.person = .remove
        return try reply(to: call, by: change) { _, call in call.response(.noContent) }
    }

    private func addAudience(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let id = try Self.id(call)
        var change = DeviceChange(id)
        change.adds = [try Self.audience(call)]
        if let user = call.user { try user.limit(&change) }
        return try reply(to: call, by: change) { _, call throws(Problem) in try self.shown(.ok, id, call) }
    }

    private func removeAudience(_ call: Call) throws(Problem) -> Endpoint.Reply {
        var change = DeviceChange(try Self.id(call))
        change.removes = [try Self.audience(call)]
        return try reply(to: call, by: change) { _, call in call.response(.noContent) }
    }

    private func reply(
        to call: Call, by change: DeviceChange,
        _ answer: @escaping @Sendable (Verdict, Call) throws(Problem) -> HTTPResponse
    ) throws(Problem) -> Endpoint.Reply {
        try writer.reply(
            to: call, "device", by: .changeDevice(change), isVisible: view.shows(change.device), answer)
    }

    private static func asksForSecret(_ call: Call) throws(Problem) -> Bool {
        guard let text = call.value("new_secret") else { return false }
        guard text == "1" else { throw Problem(.badPath, "new_secret is not 1; allowed is new_secret=1, or none") }
        return true
    }

    // MARK: Looking

    private func get(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let id = try Self.id(call)
        let view = view
        return try writer.look(call) { () throws(StoreError) in
            try view.device(id)?.revision
        } _: { () throws(Problem) in
            let state = try view.read { view throws(StoreError) in try view.device(id) }
            guard let state, state.isOf(call) else {
                throw Problem(.notFound, "there is no such device, or it is another person's")
            }
            return .now(try self.response(.ok, state, call))
        }
    }

    private static func id(_ call: Call) throws(Problem) -> DeviceID {
        guard let id = DeviceID(call.pathValues[0]) else {
            throw Problem(.badPath, "the id of the device is not one; allowed are \(DeviceID.allowed)")
        }
        try call.key?.permitEverybody("a device may have any audience")
        if let only = call.user?.device ?? call.credential?.device, only != id {
            throw Problem(.notFound, "the token or the credential is for another device")
        }
        return id
    }

    private static func audience(_ call: Call) throws(Problem) -> ByteText {
        let audience = ByteText(call.pathValues[1])
        switch audience.audience {
        case .place, .channel: return audience
        case .user, .device, nil:
            throw Problem(
                .badPath, "the audience is none that a device can have; allowed are place/<id> and channel/<id>")
        }
    }

    /// The device as a GET shows it now.
    private func shown(
        _ status: HTTPResponse.Status, _ id: DeviceID, _ call: Call, secret: String? = nil
    ) throws(Problem) -> HTTPResponse {
        guard let state = try view.read({ view throws(StoreError) in try view.device(id) }) else {
            // It was changed, and deleted since.
            throw Problem(.notFound, "it was done, and the device was deleted since")
        }
        // Somebody else's by now, or nobody's: what it has is not for the user.
        guard call.user == nil || state.isOf(call) else { return call.response(.noContent) }
        return try response(status, state, call, secret: secret)
    }

    private func response(
        _ status: HTTPResponse.Status, _ state: DeviceState, _ call: Call, secret: String? = nil
    ) throws(Problem) -> HTTPResponse {
        // What is granted to the person is not for whoever has the device.
        let person =
            try call.credential == nil
            ? state.person.flatMap { id throws(Problem) in
                try view.read { view throws(StoreError) in try view.person(id) }
            } : nil
        var members = state.members(person)
        if let secret { members.append(("secret", .text(secret))) }
        return call.response(status, .object(members), [("ETag", "\"\(state.revision)\"")])
    }
}

extension DeviceView {
    /// Whether the person of a token was erased after it was issued, as far as is known.
    func isErased(_ user: UserToken) -> Bool {
        guard let erased = try? erasure(of: ByteText(user.subject)) else { return false }
        return user.issuedAt <= erased
    }

    /// - Throws: a problem where the table cannot be read.
    func read<Value>(_ body: (DeviceView) throws(StoreError) -> Value) throws(Problem) -> Value {
        do throws(StoreError) {
            return try body(self)
        } catch {
            throw Problem(.notYet, "the table of devices and people cannot be read: it is filled again")
        }
    }

    func refuseUnlessFresh(within age: Duration) throws(Problem) {
        guard isFresh(within: age) else {
            throw Problem(.notYet, "what is known of devices and people is too old: Kafka does not answer in time")
        }
    }

    /// Whether a GET of the device shows what the verdict of a command says, or something newer.
    func shows(_ id: DeviceID) -> @Sendable (Verdict, Int64) throws(StoreError) -> Bool {
        { verdict, command throws(StoreError) in
            let revision = try self.device(id)?.revision
            return switch verdict {
            case .created(let made), .changed(let made), .unchanged(let made): revision.map { $0 >= made } ?? false
            case .gone: revision.map { $0 > command } ?? true
            case .erased, .refused, .malformed: true
            }
        }
    }
}

extension DeviceState {
    /// Whether whoever calls may know of it.
    fileprivate func isOf(_ call: Call) -> Bool {
        if let user = call.user { return person == ByteText(user.subject) }
        if let shown = call.credential { return credential == shown.hash }
        return true
    }
}

extension UserToken {
    /// Of what a user asks for: the own person, and no more than the token grants.
    fileprivate func limit(_ change: inout DeviceChange) throws(Problem) {
        let person = ByteText(subject)
        let audiences = (change.audiences ?? []) + change.adds
        switch change.person {
        case .keep where change.isWhole || !audiences.isEmpty: change.person = .set(person)
        case .remove where change.isWhole: change.person = .set(person)
        case .remove where audiences.contains { $0.audience != .channel }:
            throw Problem(.audienceNotAllowed, "places leave with the person; allowed with a logout are channels")
        case .keep, .remove, .set(person): break
        case .set: throw Problem(.audienceNotAllowed, "the token is of another person")
        }
        if let refused = audiences.first(where: { !permits(audience: $0.text) }) {
            throw Problem(.audienceNotAllowed, "the token, or its issuer, does not grant \(refused)")
        }
        guard change.app.map({ permits(app: $0.text) }) ?? !change.isWhole else {
            throw Problem(.appNotAllowed, "the token's issuer may not speak for this app")
        }
    }
}
