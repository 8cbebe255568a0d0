import Foundation
import Pipeline
import Replay

/// Putting dead letters back as the command does it: the plan, the confirmation, the writing, and what is said of each.
struct DeadLettersWork {
    let context: ReplayContext
    let request: DeadLetterRequest
    let id: String
    /// It was made by this process.
    let isNewID: Bool
    /// Events a second.
    let rate: Int
    /// The number that was given in place of being typed.
    let confirmed: Int?
    let isJSON: Bool

    private var configuration: PipelineConfiguration { context.configuration }

    /// Shows what would be put back.
    func plan() throws {
        var run = try DeadLetterRedrive(context, request, id: nil)
        try show(try run.plan())
    }

    /// Puts back what is confirmed.
    func perform() throws {
        Terminal.complain("Dead letters, \(id). Interrupted, it goes on with:\n  \(resumingLine)\n")
        var producer = try RedriveProducer(
            id: id, from: configuration.topics.deadLetters, to: configuration.topics.events, context,
            tell: { Terminal.complain("carillon: \($0)\n") })
        var run = try DeadLetterRedrive(context, request, id: id)
        let before = try run.resume(try producer.takeOver())
        if let before, before.isDone {
            var result = DeadLetterResult()
            result.tally = before.tally
            // A version before this one has not counted.
            if before.tally.isEmpty { result.tally.putBack = before.confirmed }
            return try finish(result, before.confirmed, isNew: false)
        }
        let plan = try run.plan()
        try show(plan)
        if before == nil, plan.events == 0 {
            return try finish(DeadLetterResult(), 0, isNew: true)
        }
        guard before != nil || plan.events <= request.maxEvents else {
            throw CommandFailure(
                .configuration,
                "\(Self.count(plan.events)) events are more than --max-events allows, which is "
                    + "\(Self.count(request.maxEvents)); nothing was put back")
        }
        let number = before?.confirmed ?? plan.events
        try confirm(number)
        var result = DeadLetterResult()
        if let before { result.tally = before.tally }
        try send(number, result, &run, &producer)
    }

    private func confirm(_ number: Int) throws {
        do {
            try NotifyConfirmation(count: number, unit: "events", option: "--confirm-events", given: confirmed)
                .check { TypedLine.read(isStopped: context.isStopped) }
        } catch {
            if context.isStopped() { throw CommandFailure(.notInTime, "stopped; nothing was put back") }
            throw error
        }
    }

    private func send(
        _ number: Int, _ before: DeadLetterResult, _ run: inout DeadLetterRedrive, _ producer: inout RedriveProducer
    ) throws {
        var result = before
        var line = ProgressLine(unit: "events")
        defer { line.clear() }
        do {
            let (pace, clock) = (RedrivePace(rate: rate, now: .now), { WallClock.now })
            try run.send(number, with: &producer, pace: pace, clock: clock) { now in
                result = now
                let settled = now.tally.settled
                line.show(settled - before.tally.settled, fraction: Double(settled) / Double(max(1, number)))
            }
        } catch {
            line.clear()
            let (putBack, events) = (Self.count(result.tally.putBack), Self.count(number))
            if error is ReplayStopped {
                throw CommandFailure(
                    .notInTime, "stopped; \(putBack) of \(events) events are put back. It goes on with:", resumingLine)
            }
            var failure = CommandFailure(error)
            failure.lines.append("\(putBack) of \(events) events were put back until then")
            if !(error is RedriveTakenOver) { failure.lines += ["It goes on with:", resumingLine] }
            throw failure
        }
        line.clear()
        try finish(result, number, isNew: true)
    }

    // MARK: What is said

    private func show(_ plan: DeadLetterPlan) throws {
        let text = DeadLettersText(plan: plan, configuration: configuration, id: id)
        Terminal.write(isJSON ? try JSONOutput.text(text.document) : text.text)
    }

    private func finish(_ result: DeadLetterResult, _ confirmed: Int, isNew: Bool) throws {
        let topic = configuration.topics.deadLetters
        let outcome = DeadLettersOutcome(id: id, confirmed: confirmed, result, topic: topic)
        if isJSON { return Terminal.write(try JSONOutput.text(outcome)) }
        if confirmed == 0 { return Terminal.write("Nothing is to be put back.\n") }
        let events = outcome.putBack == 1 ? "1 event" : "\(Self.count(outcome.putBack)) events"
        Terminal.write(
            isNew
                ? "Put \(events) back into \(configuration.topics.events), by \(id).\n"
                : "\(id) was finished before. Nothing was put back now.\n")
        for reason in DeadLetterLeft.allCases {
            guard let count = result.tally.left[reason] else { continue }
            let sentence = DeadLettersText.sentence(of: reason, [:], configuration)
            Terminal.write("left when their turn came: \(Self.count(count)) \(sentence)\n")
        }
        for refusal in outcome.refused { Terminal.write("  \(refusal.at): \(refusal.reason)\n") }
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
    /// By reason, what was in the plan and was left when its turn came.
    var left: [String: Int]
    /// The first ones that the broker refused in this run.
    var refused: [Refusal]

    struct Refusal: Encodable {
        var at: String
        var reason: String
    }

    /// - Parameter topic: of the dead letters.
    init(id: String, confirmed: Int, _ result: DeadLetterResult, topic: String) {
        self.id = id
        self.confirmed = confirmed
        putBack = result.tally.putBack
        left = Dictionary(uniqueKeysWithValues: result.tally.left.map { ($0.key.rawValue, $0.value) })
        refused = result.refusals.map {
            Refusal(at: "\(topic)/\($0.place.partition)/\($0.place.offset)", reason: $0.message)
        }
    }
}
