import Foundation
import Pipeline
import Replay

/// Putting dead letters back as the command does it: the plan, the confirmation, the writing, and what is said of each.
struct DeadLettersWork {
    let configuration: PipelineConfiguration
    let request: DeadLetterRequest
    let id: String
    /// It was made by this process.
    let isNewID: Bool
    /// Events a second.
    let rate: Int
    /// The number that was given in place of being typed.
    let confirmed: Int?
    let isJSON: Bool

    /// Shows what would be put back.
    func plan(_ scratch: Scratch, _ isStopped: @escaping @Sendable () -> Bool) throws {
        var run = try makeRun(nil, scratch, isStopped)
        try show(try run.plan())
    }

    /// Puts back what is confirmed.
    func perform(_ scratch: Scratch, _ isStopped: @escaping @Sendable () -> Bool) throws {
        Terminal.complain("Dead letters, \(id). Interrupted, it goes on with:\n  \(resumingLine)\n")
        var producer = try RedriveProducer(
            id: id, from: configuration.topics.deadLetters, to: configuration.topics.events, configuration,
            logger: configuration.clientSink, isStopped: isStopped, tell: { Terminal.complain("carillon: \($0)\n") })
        var run = try makeRun(id, scratch, isStopped)
        let before = try run.resume(try producer.takeOver())
        if let before, before.isDone {
            return try finish(
                DeadLettersOutcome(id: id, confirmed: before.confirmed, putBack: before.confirmed), isNew: false)
        }
        let plan = try run.plan()
        try show(plan)
        if before == nil, plan.events == 0 {
            return try finish(DeadLettersOutcome(id: id, confirmed: 0, putBack: 0), isNew: true)
        }
        guard before != nil || plan.events <= request.maxEvents else {
            throw CommandFailure(
                .configuration,
                "\(Self.count(plan.events)) events are more than --max-events allows, which is "
                    + "\(Self.count(request.maxEvents)); nothing was put back")
        }
        let number = before?.confirmed ?? plan.events
        try confirm(number, isStopped)
        try send(number, plan, &run, &producer)
    }

    private func confirm(_ number: Int, _ isStopped: () -> Bool) throws {
        do {
            try NotifyConfirmation(count: number, unit: "events", option: "--confirm-events", given: confirmed)
                .check { TypedLine.read(isStopped: isStopped) }
        } catch {
            if isStopped() { throw CommandFailure(.notInTime, "stopped; nothing was put back") }
            throw error
        }
    }

    private func send(
        _ number: Int, _ plan: DeadLetterPlan, _ run: inout DeadLetterRedrive, _ producer: inout RedriveProducer
    ) throws {
        var done = plan.done
        var line = ProgressLine(unit: "events")
        defer { line.clear() }
        do {
            try run.send(number, with: &producer, pace: RedrivePace(rate: rate, now: .now)) { now in
                done = plan.done + now
                line.show(now, fraction: Double(done) / Double(max(1, plan.events)))
            }
        } catch {
            line.clear()
            let (putBack, events) = (Self.count(done), Self.count(plan.events))
            if error is ReplayStopped {
                throw CommandFailure(
                    .notInTime, "stopped; \(putBack) of \(events) events are put back. It goes on with:", resumingLine)
            }
            var failure = CommandFailure(error)
            if let error = error as? RecordRefused { failure = CommandFailure(.configuration, error.error.description) }
            failure.lines.append("\(putBack) of \(events) events were put back until then")
            if !(error is RedriveTakenOver) { failure.lines += ["It goes on with:", resumingLine] }
            throw failure
        }
        line.clear()
        try finish(DeadLettersOutcome(id: id, confirmed: number, putBack: done), isNew: true)
    }

    private func makeRun(
        _ id: String?, _ scratch: Scratch, _ isStopped: @escaping @Sendable () -> Bool
    ) throws -> DeadLetterRedrive {
        let lines = ReplayProgress()
        return try DeadLetterRedrive(
            configuration, request, id: id, scratch: scratch, logger: configuration.clientSink, isStopped: isStopped,
            progress: { stage, count, fraction in
                lines.show(stage.rawValue, count, fraction)
                if fraction >= 1 { lines.clear() }
            })
    }

    // MARK: What is said

    private func show(_ plan: DeadLetterPlan) throws {
        let text = DeadLettersText(plan: plan, configuration: configuration, id: id)
        Terminal.write(isJSON ? try JSONOutput.text(text.document) : text.text)
    }

    private func finish(_ outcome: DeadLettersOutcome, isNew: Bool) throws {
        if isJSON { return Terminal.write(try JSONOutput.text(outcome)) }
        if outcome.confirmed == 0 { return Terminal.write("Nothing is to be put back.\n") }
        let events = outcome.putBack == 1 ? "1 event" : "\(Self.count(outcome.putBack)) events"
        Terminal.write(
            isNew
                ? "Put \(events) back into \(configuration.topics.events), by \(id).\n"
                : "\(id) was finished before. Nothing was put back now.\n")
    }

    private var resumingLine: String { ResumingLine.make(newID: isNewID ? id : nil) }

    private static func count(_ number: Int) -> String { ProgressLine.grouped(number) }
}

/// What became of it, as JSON.
struct DeadLettersOutcome: Encodable {
    var id: String
    /// How many events a person has confirmed.
    var confirmed: Int
    /// How many stand in the events again, of runs before this one too.
    var putBack: Int

    enum CodingKeys: String, CodingKey {
        case id, confirmed
        case putBack = "put_back"
    }
}
