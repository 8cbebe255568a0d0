import KafkaClient

/// What every replay needs: settings, disk space, the time, a log, and callbacks for
/// progress and cancellation.
package struct ReplayContext {
    /// The current stage.
    package enum Stage: String, Sendable {
        case journal = "journal records"
        case subscriptions = "subscriptions"
        case dispatch = "dispatch records"
        case deadLetters = "dead letters"
        case events
        case compared = "unequal records"
        case outcomes
    }

    package var configuration: PipelineConfiguration
    package var scratch: Scratch
    /// The wall clock when the command began.
    package var now: WallTime
    package var logger: ClientLog.Sink
    /// Called between two batches, and while waiting for a broker; true ends the work with ``ReplayStopped``.
    package var isStopped: @Sendable () -> Bool
    /// The number of items read in a stage, and the fraction of the stage that is done.
    package var progress: (Stage, Int, Double) -> Void
    /// Of what is read in all; nil: none.
    package var limit: ReadLimit?
    /// How long a broker may take to answer.
    package var patience: Duration

    package init(
        configuration: PipelineConfiguration, scratch: Scratch, now: WallTime, logger: @escaping ClientLog.Sink,
        isStopped: @escaping @Sendable () -> Bool = { false },
        progress: @escaping (Stage, Int, Double) -> Void = { _, _, _ in }, limit: ReadLimit? = nil,
        patience: Duration = .seconds(30)
    ) {
        self.configuration = configuration
        self.scratch = scratch
        self.now = now
        self.logger = logger
        self.isStopped = isStopped
        self.progress = progress
        self.limit = limit
        self.patience = patience
    }
}
