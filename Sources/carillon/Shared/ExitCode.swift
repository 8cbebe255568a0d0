/// How a command ended, for scripts and service managers; sysexits(3) codes where one fits.
enum ExitCode: Int32, CaseIterable, Sendable {
    /// Done; a pipeline has drained and committed.
    case success = 0
    /// A check found a difference.
    case difference = 1
    /// A check found no difference, but its input was not certain to be exact.
    case approximate = 2
    /// Another process has this instance or slot. Service managers must not restart on it.
    case inUse = 3
    case usage = 64
    /// A defect, or a record that cannot be written anywhere.
    case defect = 70
    /// Not done in time: not drained, no broker answered, or no registrar has decided. Nothing is lost; retry.
    case notInTime = 75
    /// Authentication or authorization was refused.
    case notPermitted = 77
    /// A setting is wrong, or a person must decide: no `--from`, a missing topic, a changed partition count.
    case configuration = 78
}

/// Why a command ended, in lines for a person.
struct CommandFailure: Error {
    var code: ExitCode
    /// Each names the flag or setting, the value, and what is allowed.
    var lines: [String]

    init(_ code: ExitCode, _ lines: String...) {
        self.init(code, lines: lines)
    }

    init(_ code: ExitCode, lines: [String]) {
        self.code = code
        self.lines = lines
    }
}
