/// Whether a pipeline is processing its partitions, and if not, what it waits for: for a host's readiness probe.
///
/// A process that is not ready is not broken: it waits and comes back by itself. Whatever needs an operator ends
/// ``NotificationPipeline/run()`` with an error. `carillon run --http` serves it as `/ready`.
public struct Readiness: Sendable, Equatable {
    /// What the pipeline waits for; nothing when it is ready.
    public var reasons: [Reason] = []

    public var isReady: Bool { reasons.isEmpty }

    public enum Reason: Sendable, Equatable, CustomStringConvertible {
        /// `run()` has not begun, or has returned.
        case notRunning
        /// The state folder, the broker and the topics are being checked, before the first worker starts.
        case starting
        /// `shutdown()` was called, or a thread has failed: what is open is committed.
        case draining
        /// The latest query to the broker was not answered, or every connection is down; with the error.
        case brokerAway(String)
        /// The subscriptions table has not reached the end that its topic had at the latest assignment, or has been
        /// behind for longer than `subscriptions.max-lag`; how many records, where it is known.
        case tableBehind(records: Int?)
        /// These workers have not been assigned partitions yet (or none: more workers than partitions is ready).
        case noAssignment(workers: [Int])
        /// These workers do not know yet where to continue reading: at the start, and after an error.
        case noPosition(workers: [Int])
        /// These workers fold the state of their orders up to the committed offsets, from their checkpoint or the log.
        case refolding(workers: [Int])
        /// At this position, `<topic>/<partition>/<offset>`, three processes have ended for lack of memory: its partition is not
        /// read until a person decides. With how many records are behind it, for the subscriptions.
        case held(String, recordsBehind: Int?)
        /// Processes have ended for lack of memory: the partitions are read one after another, now this one.
        case readAlone(String)
        /// The end of a batch that cannot be read is searched, to pass it; with its position.
        case unreadable(String)
        /// The wall clock has been set: it is so many seconds ahead of the pipeline's own clock, which follows it once it
        /// has stayed there for 10 s.
        case clockOff(seconds: Int64)
        /// The clock is so many seconds ahead of the broker's, and what is over cannot be decided.
        case clockAhead(seconds: Int64)

        public var description: String {
            switch self {
            case .notRunning: "the pipeline is not running"
            case .starting: "the pipeline is starting"
            case .draining: "the pipeline is draining"
            case .brokerAway(let why): "the broker is unreachable: \(why)"
            case .tableBehind(nil): "the subscriptions table is catching up"
            case .tableBehind(let records?): "the subscriptions table is catching up: \(records) records behind"
            case .noAssignment(let workers): "no assignment yet: \(Self.list(workers))"
            case .refolding(let workers): "the state of orders is being folded: \(Self.list(workers))"
            case .held(let position, let records):
                "\(position) is held\(records.map { ", with \($0) records behind it" } ?? ""): three processes have ended there for "
                    + "lack of memory; pass the batch with: carillon offsets pass \(position), and restart"
            case .readAlone(let partition):
                "processes have ended for lack of memory: partitions are read one after another, now \(partition)"
            case .unreadable(let position): "a batch cannot be read and will be passed: \(position)"
            case .clockAhead(let seconds): "the clock is \(ClockCheck.text(seconds)) the broker's"
            case .clockOff(let seconds): "the wall clock is off by \(seconds) s"
            case .noPosition(let workers): "no position to read from yet: \(Self.list(workers))"
            }
        }

        private static func list(_ workers: [Int]) -> String {
            (workers.count == 1 ? "worker " : "workers ") + workers.map(String.init).joined(separator: ", ")
        }
    }
}
