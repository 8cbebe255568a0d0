import Notifications
import Synchronization

/// What each lane is doing, for readiness and monitoring. Any thread.
final class SenderBoard: Sendable {
    /// A lane of this process.
    struct Lane: Equatable, Sendable {
        var partitions = 0
        var isReading = false
        var inFlight = 0
        var held = 0
        /// The age of the oldest record of the dispatch topic that was read and is not finished; 0 if there is none.
        var headAge: Duration = .zero
        var possiblyTwice = 0
        /// Paused by its provider.
        var isPaused = false
        /// Names of the credentials that are paused.
        var pausedCredentials: [String] = []
        /// Names of the credentials that operators have paused; an empty one is the whole provider.
        var holds: [String] = []
        /// Names of the credentials that have no token.
        var unready: [String] = []
        /// How long the token of each credential has been used, by the credential's name.
        var tokenAges: [String: Duration] = [:]
        /// Offsets of its topics from the first unfinished one on; nil until the first measurement.
        var lag: Int?
    }

    private let lanes = Mutex<[Platform: Lane]>([:])
    /// Lanes that only a person can mend, and why.
    private let stops = Mutex<[Platform: String]>([:])

    func set(_ lane: Lane, of provider: Platform) { lanes.withLock { $0[provider] = lane } }

    func remove(_ provider: Platform) { lanes.withLock { $0[provider] = nil } }

    func stop(_ provider: Platform, because reason: String) { stops.withLock { $0[provider] = reason } }

    var stopped: [Platform: String] { stops.withLock { $0 } }

    var all: [(provider: Platform, lane: Lane)] {
        lanes.withLock { lanes in Platform.allCases.compactMap { each in lanes[each].map { (each, $0) } } }
    }
}
