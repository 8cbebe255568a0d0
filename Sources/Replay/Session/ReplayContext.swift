import KafkaClient
import Pipeline

/// What every replay is given, whatever it does with past events: settings, room on the disk, the time, a log, and how it
/// shows its progress and is stopped.
package struct ReplayContext {
    /// What is being read.
    package enum Stage: String, Sendable {
        case journal = "journal records"
        case subscriptions = "subscriptions"
        case dispatch = "dispatch records"
        case deadLetters = "dead letters"
        case events
        case compared = "unequal records"
    }

    package var configuration: PipelineConfiguration
    package var scratch: Scratch
    /// The wall clock when the command began, in milliseconds since 1970.
    package var now: Int64
    package var logger: ClientLog.Sink
    /// Asked between two batches, and while a broker is waited for; true ends the work with ``ReplayStopped``.
    package var isStopped: @Sendable () -> Bool
    /// How many were read of a stage, and the fraction of it that is done.
    package var progress: (Stage, Int, Double) -> Void

    package init(
        configuration: PipelineConfiguration, scratch: Scratch, now: Int64, logger: @escaping ClientLog.Sink,
        isStopped: @escaping @Sendable () -> Bool = { false },
        progress: @escaping (Stage, Int, Double) -> Void = { _, _, _ in }
    ) {
        self.configuration = configuration
        self.scratch = scratch
        self.now = now
        self.logger = logger
        self.isStopped = isStopped
        self.progress = progress
    }
}
