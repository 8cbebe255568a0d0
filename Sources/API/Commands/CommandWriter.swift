import HTTPServer
import KafkaClient
import Notifications
import Pipeline
import Registrar
import StateStore
import Telemetry

/// Writes commands, and answers with what the registrar has decided, once a GET of this process shows it (docs/devices.md).
package final class CommandWriter: Sendable {
    /// What became of a command.
    enum Outcome: Sendable {
        case decided(Verdict)
        /// It is in Kafka, and nobody has decided it in time.
        case recorded
    }

    let view: DeviceView
    /// The largest age of what is known.
    private let maxLag: Duration
    /// How long a verdict is waited for.
    let wait: Duration
    private let topic: String
    private let taker: any RecordTaker
    private let board: VerdictBoard
    private let surroundings: APIHandler.Surroundings
    private let unchanged: Counter

    /// - Parameter configuration: with `topic.commands`.
    package init(
        _ configuration: PipelineConfiguration, _ taker: any RecordTaker, _ view: DeviceView, _ board: VerdictBoard,
        _ surroundings: APIHandler.Surroundings, metrics: Metrics
    ) {
        unchanged = metrics.counter(
            "carillon_api_unchanged_devices_total",
            help: "Devices that were to be what they are already: answered without a command.")
        (topic, wait, maxLag) = (
            configuration.topics.commands, configuration.api.wait, configuration.subscriptionsMaxLag
        )
        (self.taker, self.view, self.board, self.surroundings) = (taker, view, board, surroundings)
    }

    var now: WallTime { surroundings.now() }

    /// Whether what is known here is not too old.
    var isFresh: Bool { view.isFresh(within: maxLag) }

    func refuseUnlessFresh() throws(Problem) { try view.refuseUnlessFresh(within: maxLag) }

    /// Answers a request by one command.
    ///
    /// - Parameters:
    ///   - subject: what the command is about, for sentences.
    ///   - isVisible: whether a GET shows what the verdict of the command at this offset says, or something newer.
    ///   - answer: to any verdict but a refusal.
    func reply(
        to call: Call, _ subject: String, by action: Action,
        isVisible: @escaping @Sendable (Verdict, Int64) throws(StoreError) -> Bool,
        _ answer: @escaping @Sendable (Verdict, Call) throws(Problem) -> HTTPResponse
    ) throws(Problem) -> Endpoint.Reply {
        let command = Command(action, by: try call.author, if: try Self.condition(call, subject))
        return later { respond in
            self.write(command, for: call, respond, isVisible: isVisible) { outcome, offset in
                respond(Self.response(to: outcome, of: offset, call, subject, answer))
            }
        }
    }

    /// The time for an answer to commands: a little more than what it waits for, so that it says what is known.
    func later(
        _ begin: @escaping @Sendable (@escaping @Sendable (HTTPResponse) -> Void) -> Void
    ) -> Endpoint.Reply { .later(within: wait * 2, otherwise: .outcomeUnknown, begin: begin) }

    /// Writes a command, and waits for its verdict.
    ///
    /// - Parameters:
    ///   - respond: gets the answer where it was not written.
    ///   - done: gets what became of it, and its offset.
    func write(
        _ command: Command, for call: Call, _ respond: @escaping @Sendable (HTTPResponse) -> Void,
        isVisible: @escaping @Sendable (Verdict, Int64) throws(StoreError) -> Bool,
        _ done: @escaping @Sendable (Outcome, Int64) -> Void
    ) {
        let deadline = ContinuousClock.now + wait
        taker.write(record(of: command, call), to: topic, for: call, respond) { [board] _, offset in
            board.wait(for: offset, until: deadline) { verdict in
                (try? isVisible(verdict, offset)) ?? false
            } _: { answer in
                switch answer {
                case .decided(let verdict): done(.decided(verdict), offset)
                case .notYet: done(.recorded, offset)
                }
            }
        }
    }

    /// Answers a GET, once this process knows what the position in the header `Carillon-After` has changed.
    ///
    /// - Parameters:
    ///   - time: how long an answer takes that is not there at once.
    ///   - revision: of what is asked for; nil: it has none. A later one than the position is an answer at once.
    func look(
        _ call: Call, taking time: Duration = .zero,
        revision: @escaping @Sendable () throws(StoreError) -> Int64?,
        _ answer: @escaping @Sendable () throws(Problem) -> Endpoint.Reply
    ) throws(Problem) -> Endpoint.Reply {
        try refuseUnlessFresh()
        guard let position = try call.after else { return try answer() }
        let (view, asked) = (view, ContinuousClock.now)
        let isKnown: @Sendable () -> Bool = {
            if view.isFresh(since: asked) { return true }
            let revision = try? revision()
            return revision.map { $0 >= position } ?? false
        }
        if isKnown() { return try answer() }
        let notYet = Problem(.notYet, "this process does not know yet what Carillon-After names")
        return .later(within: wait * 2 + time, otherwise: notYet) { [board, wait] respond in
            board.wait(until: asked + wait, isKnown) { isKnown in
                do throws(Problem) {
                    guard isKnown else { throw notYet }
                    switch try answer() {
                    case .now(let response): respond(response)
                    case .later(_, _, let begin): begin(respond)
                    }
                } catch {
                    respond(call.response(to: error))
                }
            }
        }
    }

    /// Begins once this process knows everything that was there when it was asked.
    ///
    /// - Parameter begin: gets what takes the answer.
    func onceKnown(
        _ call: Call, _ begin: @escaping @Sendable (@escaping @Sendable (HTTPResponse) -> Void) -> Void
    ) -> Endpoint.Reply {
        let (view, asked) = (view, ContinuousClock.now)
        let isKnown: @Sendable () -> Bool = { view.isFresh(since: asked) }
        guard !isKnown() else { return later(begin) }
        let notYet = Problem(.notYet, "this process does not know yet what there is now")
        return .later(within: wait * 3, otherwise: .outcomeUnknown) { [board, wait] respond in
            board.wait(until: asked + wait, isKnown) { isKnown in
                if isKnown { begin(respond) } else { respond(call.response(to: notYet)) }
            }
        }
    }

    /// Writes a command whose verdict nobody waits for.
    ///
    /// - Parameter done: gets whether it certainly is recorded; called once, on any thread.
    func record(_ command: Command, _ call: Call, _ done: @escaping @Sendable (Bool) -> Void) {
        taker.write(record(of: command, call), to: topic, for: call) { _ in
            done(false)
        } written: { _, _ in
            done(true)
        }
    }

    /// Whether a change asks for what is so already, as far as this process knows at a fresh moment: most of what apps send
    /// at their start. Counted; nothing is written for it.
    func isUnchanged(_ device: DeviceState, by change: DeviceChange, _ call: Call) throws(Problem) -> Bool {
        let command = Command(.changeDevice(change), by: try call.author, if: try Self.condition(call, "device"))
        guard isFresh, RegistrarCore.isUnchanged(device, by: command, at: now) else { return false }
        unchanged.add(1)
        return true
    }

    private func record(of command: Command, _ call: Call) -> ProducerRecord {
        ProducerRecord(
            key: nil, value: command.json, headers: call.recordHeaders, partition: 0, timestamp: surroundings.now())
    }

    /// The answer to a command.
    static func response(
        to outcome: Outcome, of offset: Int64, _ call: Call, _ subject: String,
        _ answer: (Verdict, Call) throws(Problem) -> HTTPResponse
    ) -> HTTPResponse {
        switch outcome {
        case .recorded: return recorded([offset], call)
        case .decided(let verdict):
            let call = call.at(offset)
            do throws(Problem) {
                switch verdict {
                case .created, .changed, .unchanged, .gone, .erased: return try answer(verdict, call)
                case .refused(let refusal): throw Problem(refusal, of: subject)
                case .malformed: throw Problem(.defect, "the registrar cannot read the command")
                }
            } catch {
                return call.response(to: error)
            }
        }
    }

    /// The answer to commands that nobody has decided in time.
    static func recorded(_ offsets: [Int64], _ call: Call) -> HTTPResponse {
        let last = offsets.max() ?? 0
        return call.response(
            .accepted, ["command": .integer(last), "status": "recorded"],
            [("Location", "/v1/commands/\(last)"), ("Retry-After", "1")])
    }

    /// What If-Match and If-None-Match ask for.
    static func condition(_ call: Call, _ subject: String) throws(Problem) -> Condition? {
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
            throw Problem(.badHeader, "If-Match cannot be read; allowed are * and the ETag of the \(subject)")
        case (_?, _?):
            throw Problem(.badHeader, "If-Match and If-None-Match contradict each other; allowed is one of them")
        }
    }
}

extension Call {
    /// What the header `Carillon-After` says: the offset of a command; nil: it is not there.
    var after: Int64? {
        get throws(Problem) {
            guard let text = request.header("carillon-after") else { return nil }
            guard let position = AfterHeader.offset(text.utf8) else {
                throw Problem(.badHeader, "Carillon-After cannot be read; allowed is what Carillon-Position has said")
            }
            return position
        }
    }

    /// Its answer names the position of what it says: the offset of a command.
    func at(_ command: Int64) -> Call {
        var call = self
        call.headers.append(("Carillon-Position", "\(command)"))
        return call
    }

    /// Who makes a command.
    var author: Author {
        get throws(Problem) {
            if let user { return .user(ByteText(user.subject), issuedAt: user.issuedAt) }
            if let credential { return .device(credential.hash) }
            guard let key else { throw Problem(.defect, "a change by nobody") }
            return .key(key.id)
        }
    }
}

extension Problem {
    static let personErased = Problem(
        .personErased, "the person was erased after the token was issued; needed is a new one")

    /// - Parameter subject: what the command was about: `device` or `person`.
    init(_ refusal: Refusal, of subject: String) {
        switch refusal {
        case .notFound: self.init(.notFound, "there is no such \(subject)")
        case .notThisDevice:
            self.init(.notFound, "there is no such device of this person; who has its present address may send that")
        case .notByCredential:
            self.init(
                .scope,
                "the credential of a device may change its address, locale and time zone, log out and unregister")
        case .personErased: self = .personErased
        case .preconditionFailed:
            self.init(.revision, "the \(subject) has another version, or is not there, or is there already")
        case .staleGeneration(let current):
            self.init(.staleGeneration, "the device has the generation \(current), and this is an older one")
        case .tooManyAudiences(let most):
            self.init(.badRequest, "audiences has too many; allowed are \(most)")
        case .invalid(let problems):
            self.init(.badRequest, problems.first ?? "the \(subject) is not allowed")
            faults = problems.map { Fault(pointer: "", .badRequest, detail: $0) }
        }
    }
}
