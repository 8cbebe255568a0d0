import KafkaClient
import Pipeline

/// Tells the registrar of dead devices: reads what `notifications.deliveries` says about them, and writes commands to
/// `topic.commands` (docs/rules.md §12).
///
/// It keeps nothing: what it has done is in Kafka, so that it may be killed at any moment, and any other process may go
/// on, also beside it. One thread at a time.
package struct Reaper {
    /// How often a run begins again after an error that passes.
    private static let attempts = 3

    private let configuration: PipelineConfiguration
    private let logger: Logger
    private let age: Int64

    /// - Parameter age: how old evidence must be, in milliseconds.
    package init(_ configuration: PipelineConfiguration, logger: Logger, age: Int64 = DeadEvidence.age) {
        self.configuration = configuration
        self.logger = logger
        self.age = age
    }

    /// Why the registrar cannot be told with these settings; nil if it can.
    package static func missingSetting(of configuration: PipelineConfiguration) -> String? {
        guard configuration.topics.commands.isEmpty else { return nil }
        return "topic.commands is not set, so that dead devices stay subscribed: the registrar takes them out; "
            + "the usual name is notifications.commands"
    }

    /// Finds out what the registrar would be told now. Writes nothing.
    ///
    /// - Parameter progress: the records of a topic so far, and the fraction of it.
    /// - Throws: ``KafkaError``; ``ReaperStopped``.
    package func plan(
        until stop: @escaping () -> Bool, progress: @escaping (Int, Double) -> Void = { _, _ in }
    ) throws -> ReapPlan {
        let log = try KafkaReapLog(configuration, logger: logger, until: stop, progress: progress)
        return try ReapRun(log, until: stop).plan(now: WallClock.now, age: age)
    }

    /// Tells the registrar what a plan has found.
    ///
    /// - Throws: ``KafkaError``; ``ReaperStopped``. The next run tells it then.
    package func perform(
        _ plan: ReapPlan, _ approval: ReapApproval, until stop: @escaping () -> Bool
    ) throws -> ReapReport {
        let log = try KafkaReapLog(configuration, logger: logger, until: stop)
        let run = ReapRun(log, until: stop)
        var attempt = 1
        while true {
            do {
                return try run.perform(plan, approval)
            } catch let error as KafkaError {
                let isPassing = error.recovery != .giveUp && !error.needsAPerson
                guard isPassing, attempt < Self.attempts, !stop() else { throw error }
                attempt += 1
                logger.info("dead devices: begins again", ["error": error.description])
            }
        }
    }

    /// A whole run, as the daemon does it every hour.
    ///
    /// - Throws: ``KafkaError``; the next run tells the registrar then.
    package func reap(until stop: @escaping () -> Bool) throws {
        do {
            let plan = try plan(until: stop)
            log(try perform(plan, .withinLimit, until: stop), of: plan)
        } catch is ReaperStopped {}
    }

    private func log(_ report: ReapReport, of plan: ReapPlan) {
        for credential in report.held {
            let answers = plan.answers[credential] ?? DeadEvidence.Answers()
            logger.warning(
                "dead devices: too many of a credential, so all of them stay until a person confirms it: "
                    + "carillon deliver reap",
                ["credential": credential, "dead": "\(answers.dead)", "answers": "\(answers.all)"])
        }
        if report.devices > 0 {
            logger.notice("dead devices: the registrar was told", ["devices": "\(report.devices)"])
        } else {
            logger.debug("dead devices: there is none")
        }
    }
}
