/// Which roles of a process have ended, and what follows from it. Pure: ``ProcessHost`` runs the roles.
struct RoleEndings {
    /// What the end of one role means for the others.
    enum Consequence: Equatable {
        /// Nothing: it has finished, or all are ending.
        case none
        /// A person has to mend it, and the others go on.
        case stopsAlone
        /// The others drain.
        case endsProcess
    }

    private(set) var running: Set<RoleName>
    /// Those that wait for a person, with what they need.
    private(set) var stopped: [RoleName: String] = [:]
    private(set) var isEnding = false
    private var failures: [any Error] = []

    init(_ roles: [RoleName]) {
        running = Set(roles)
    }

    /// All roles drain.
    mutating func drains() { isEnding = true }

    /// - Parameters:
    ///   - error: why the role has ended; nil: it had finished.
    ///   - hasWorked: whether any role of the process has committed anything.
    mutating func ended(_ role: RoleName, _ error: (any Error)?, hasWorked: Bool) -> Consequence {
        running.remove(role)
        guard let error else { return .none }
        failures.append(error)
        guard !isEnding else { return .none }
        if hasWorked, !running.isEmpty, Self.stopsAlone(role, error) {
            stopped[role] = "\(error)"
            return .stopsAlone
        }
        isEnding = true
        return .endsProcess
    }

    /// Whether only a person can mend it, and the others are worth running without it.
    private static func stopsAlone(_ role: RoleName, _ error: any Error) -> Bool {
        guard let error = error as? PipelineError else { return false }
        switch (role, error) {
        case (.broadcasts, .notAuthorized), (.broadcasts, .decisionNeeded), (.deliver, .notAuthorized),
            (.deliver, .decisionNeeded), (.registrar, .notAuthorized), (.registrar, .decisionNeeded),
            (.api, .notAuthorized), (.api, .decisionNeeded):
            return true
        case (.pipeline, _), (_, .instanceInUse), (_, .defect), (_, .unplaceableRecord), (_, .notDrained): return false
        }
    }

    /// The failure that says most; nil where all roles have drained or finished.
    var failure: (any Error)? {
        failures.enumerated().min { (Self.rank($0.element), $0.offset) < (Self.rank($1.element), $1.offset) }?.element
    }

    /// A lost slot comes first, since a restart would take it back; then what nobody expected, then what a person decides.
    private static func rank(_ error: any Error) -> Int {
        switch error {
        case PipelineError.instanceInUse: 0
        case PipelineError.decisionNeeded: 2
        case PipelineError.notAuthorized: 3
        case PipelineError.notDrained: 4
        case is CancellationError: 5
        default: 1
        }
    }
}
