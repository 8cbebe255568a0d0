import Streaming

/// What a worker has written since its last commit.
struct OpenTransaction: Equatable {
    /// The events of a batch that have a timestamp.
    struct Batch: Equatable {
        /// Their oldest timestamp.
        var oldest: WallTime
        var events: Int
    }

    let time: TransactionTime
    var events = 0
    var batches: [Batch] = []
    /// Nothing more may be written.
    var isFull = false
    /// The only event of a transaction that isolates one.
    var alone: EventCoordinates?
    var aloneIsDeadLetter = false
    /// Whether it has timers, and how many it may have at most; nil: as many as fit.
    var hasTick = false
    var tickLimit: Int?
    /// The partition of its latest timers.
    var timersOf: Int32?
}
