/// Where a test makes a process fail. Release builds have no faults.
package enum FaultPoint: CaseIterable {
    /// A batch's records were handed to the producer.
    case afterProduce
    /// The timers of a partition were handed to the producer.
    case afterTick
    /// The journal's record was handed to the producer; the offsets were not sent.
    case beforeCommit
    /// The broker has the offsets; the commit was not requested.
    case afterSendOffsets
    /// The broker has committed; the worker has not noted it.
    case afterCommit
    /// The group wants the partitions back; what is open is not committed.
    case inRevoke
    /// Records below the committed offset were folded, and there are more.
    case inRefold
    /// Subscriptions were read; the table's store does not have them.
    case beforeTableCommit
    /// The table's store has them.
    case afterTableCommit
    /// The table has read a part of its topic and is not at the end.
    case inCatchUp
}

#if DEBUG
    import Foundation
    import Synchronization

    extension FaultPoint: RawRepresentable {
        /// As `CARILLON_FAULT` names it: `after-send-offsets`. Made of the case's name, so that no release build has it.
        package var rawValue: String {
            "\(self)".map { $0.isUppercase ? "-\($0.lowercased())" : "\($0)" }.joined()
        }

        package init?(rawValue: String) {
            guard let point = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
            self = point
        }
    }

    /// What `CARILLON_FAULT` asks a debug build for: rules as `action@point:chance`, with commas in between.
    ///
    ///     CARILLON_FAULT=kill@after-commit:1/40,abort@before-commit:1/3 CARILLON_FAULT_SEED=7 carillon run …
    ///
    /// Actions: `kill` as by kill -9; `stop` as by SIGSTOP, once; `abort` as if the broker had asked for an abort.
    /// Whether a rule fires depends on the seed, the rule, the worker and how often that worker was there, and on nothing
    /// else: the same seed fails at the same places. Each fault writes `fault: <action>@<point>` to standard error first.
    /// Any thread.
    package final class FaultPlan: Sendable {
        package enum Action: String, Sendable {
            case kill, stop, abort

            /// Whether it happens to a process once.
            var isOnce: Bool {
                switch self {
                case .stop: true
                case .kill, .abort: false
                }
            }

            /// Whether it wants a transaction that is open.
            var needsTransaction: Bool {
                switch self {
                case .abort: true
                case .kill, .stop: false
                }
            }
        }

        struct Rule: Hashable, Sendable {
            var action: Action
            var point: FaultPoint
            /// Fires this often …
            var times: UInt64
            /// … of as many visits, on average.
            var visits: UInt64
        }

        private struct History {
            var visits: [Visitor: UInt64] = [:]
            /// The rules that have stopped the process, which they do once.
            var done: Set<Int> = []
        }

        private struct Visitor: Hashable {
            var rule: Int
            var worker: Int
        }

        let rules: [Rule]
        private let seed: UInt64
        private let history = Mutex(History())

        /// - Returns: nil where the environment asks for nothing.
        /// - Throws: what is wrong with it; a test would pass without testing anything if a bad rule were ignored.
        package static func ofEnvironment() throws(PipelineError) -> FaultPlan? {
            let environment = ProcessInfo.processInfo.environment
            guard let text = environment["CARILLON_FAULT"] else { return nil }
            return try FaultPlan(parsing: text, seed: environment["CARILLON_FAULT_SEED"].flatMap(UInt64.init) ?? 0)
        }

        init(parsing text: String, seed: UInt64) throws(PipelineError) {
            var rules: [Rule] = []
            for part in text.split(separator: ",") {
                guard let rule = Rule(parsing: part) else {
                    throw .decisionNeeded(
                        "CARILLON_FAULT: '\(part)' is not action@point:chance, as kill@after-commit:1/40")
                }
                rules.append(rule)
            }
            self.rules = rules
            self.seed = seed
        }

        /// What happens to a worker at this visit of the point; the first rule that fires decides.
        package func draw(_ point: FaultPoint, worker: Int) -> Action? {
            history.withLock { history in
                for (index, rule) in rules.enumerated() where rule.point == point && !history.done.contains(index) {
                    let visit = history.visits[Visitor(rule: index, worker: worker), default: 0] + 1
                    history.visits[Visitor(rule: index, worker: worker)] = visit
                    var number = seed
                    for part in [UInt64(index), UInt64(bitPattern: Int64(worker)), visit] {
                        number = Self.mixed(number ^ part)
                    }
                    guard number % rule.visits < rule.times else { continue }
                    if rule.action.isOnce { history.done.insert(index) }
                    return rule.action
                }
                return nil
            }
        }

        /// SplitMix64.
        private static func mixed(_ number: UInt64) -> UInt64 {
            var number = number &+ 0x9E37_79B9_7F4A_7C15
            number = (number ^ (number >> 30)) &* 0xBF58_476D_1CE4_E5B9
            number = (number ^ (number >> 27)) &* 0x94D0_49BB_1331_11EB
            return number ^ (number >> 31)
        }
    }

    extension FaultPlan.Rule {
        init?(parsing text: Substring) {
            let parts = text.split(whereSeparator: { "@:/".contains($0) }).map(String.init)
            guard parts.count == 4, text == "\(parts[0])@\(parts[1]):\(parts[2])/\(parts[3])",
                let action = FaultPlan.Action(rawValue: parts[0]), let point = FaultPoint(rawValue: parts[1]),
                let times = UInt64(parts[2]), let visits = UInt64(parts[3]), visits > 0, times <= visits,
                !action.needsTransaction || point.isInTransaction
            else { return nil }
            self.init(action: action, point: point, times: times, visits: visits)
        }
    }

    extension FaultPoint {
        /// Whether a transaction is open that can be aborted.
        fileprivate var isInTransaction: Bool {
            switch self {
            case .afterProduce, .afterTick, .beforeCommit, .afterSendOffsets: true
            case .afterCommit, .inRevoke, .inRefold, .beforeTableCommit, .afterTableCommit, .inCatchUp: false
            }
        }
    }

    /// By how much a test shifts the wall clock: the seconds in the file that `CARILLON_FAULT_CLOCK` names, read
    /// again each time.
    enum FaultClock {
        private static let path = ProcessInfo.processInfo.environment["CARILLON_FAULT_CLOCK"]

        /// In milliseconds.
        static var offset: Int64 {
            guard let path, let text = try? String(contentsOfFile: path, encoding: .utf8) else { return 0 }
            return (Int64(text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0) * 1000
        }
    }
#endif
