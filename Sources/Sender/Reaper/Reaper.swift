import KafkaClient
import Pipeline

/// Takes dead devices out of the table: reads what `notifications.deliveries` says about them, and writes nulls to
/// `notifications.subscriptions` (docs/rules.md §12).
///
/// It keeps nothing: what it has done is in Kafka, so that it may be killed at any moment, and any other process may go
/// on. One thread at a time.
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

    /// Finds out what would be deleted now. Writes nothing, and disturbs no other reaper.
    ///
    /// - Parameter progress: the records of a topic so far, and the fraction of it.
    /// - Throws: ``KafkaError``; ``ReaperStopped``.
    package func plan(
        until stop: @escaping () -> Bool, progress: @escaping (Int, Double) -> Void = { _, _ in }
    ) throws -> ReapPlan {
        let log = try KafkaReapLog(configuration, logger: logger, until: stop, progress: progress)
        return try ReapRun(log, group: configuration.groupID, until: stop).plan(now: WallClock.now, age: age)
    }

    /// Deletes what a plan has found.
    ///
    /// - Throws: ``KafkaError``; ``ReaperTakenOver``; ``ReaperStopped``. What is open then is finished by the next run.
    package func perform(
        _ plan: ReapPlan, _ approval: ReapApproval, until stop: @escaping () -> Bool
    ) throws -> ReapReport {
        let log = try KafkaReapLog(configuration, logger: logger, until: stop)
        let run = ReapRun(log, group: configuration.groupID, until: stop)
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

    /// A whole run, as the daemon does it every hour. A reaper that another one takes over from ends quietly.
    ///
    /// - Throws: ``KafkaError``; what is open then is finished by the next run.
    /// - Returns: nil if it was stopped, or another one has taken over.
    package func reap(
        _ approval: ReapApproval = .withinLimit, until stop: @escaping () -> Bool
    ) throws -> ReapReport? {
        do {
            let plan = try plan(until: stop)
            let report = try perform(plan, approval, until: stop)
            tell(report, of: plan)
            return report
        } catch is ReaperTakenOver {
            logger.info("dead devices: another reaper continues", ["group": configuration.groupID])
            return nil
        } catch is ReaperStopped {
            return nil
        }
    }

    private func tell(_ report: ReapReport, of plan: ReapPlan) {
        for credential in report.held {
            let answers = plan.answers[credential] ?? DeadEvidence.Answers()
            logger.warning(
                "dead devices: too many of a credential, so none of them is deleted before a person confirms it: "
                    + "carillon deliver reap",
                ["credential": credential, "dead": "\(answers.dead)", "answers": "\(answers.all)"])
        }
        let counts = [
            "devices": "\(report.devices)", "subscriptions": "\(report.subscriptions)",
            "restored": "\(report.restored)",
        ]
        if report.subscriptions + report.restored > 0 {
            logger.notice("dead devices were taken out of the table", counts)
        } else {
            logger.debug("dead devices: there is none", counts)
        }
    }
}
