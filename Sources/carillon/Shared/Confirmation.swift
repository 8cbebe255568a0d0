import Foundation

/// The confirmation of a command that notifies people, or ends what they get: the number in its plan, typed or given as
/// an option.
struct Confirmation {
    /// What is done once it is confirmed.
    enum Deed {
        case send, resend, putBack, delete, erase, cancel, move

        var warning: String {
            switch self {
            case .send, .resend, .putBack: "This notifies people."
            case .delete: "This deletes subscriptions."
            case .erase: "This erases a person."
            case .cancel: "This cancels a broadcast."
            case .move: "Whoever is subscribed anew gets pushes from now on."
            }
        }

        var undone: String {
            switch self {
            case .send, .resend: "nothing was sent"
            case .putBack: "nothing was put back"
            case .delete: "nothing was deleted"
            case .erase: "nothing was erased"
            case .cancel: "nothing was cancelled"
            case .move: "nothing was moved"
            }
        }

        /// The options that a script lacks, and the exit code then.
        fileprivate func missing(_ count: Int) -> (options: String, code: ExitCode) {
            switch self {
            case .send, .cancel, .erase: ("--yes or --confirm \(count)", .usage)
            case .resend, .putBack, .delete, .move: ("--confirm \(count)", .configuration)
            }
        }
    }

    var deed: Deed
    /// Any number up to the limit is right.
    var isUnasked = false
    /// The number that was given as an option.
    var given: Int?
    /// The largest number that is allowed.
    var most: Int?
    /// The largest number that needs no confirmation.
    var mostUnasked: Int?
    /// Whether a person can be prompted.
    var isTerminal = Terminal.inputIsTerminal
    var isStopped: () -> Bool = { false }

    /// Prompts, unless the number was given.
    ///
    /// - Parameters:
    ///   - unit: the counted things, such as `devices`.
    ///   - isResumed: the number was confirmed when an interrupted run began, and may be smaller by now.
    ///   - typed: shows a prompt and returns the typed line; nil at the end of the input.
    /// - Throws: the reason, unless the number is right.
    func judge(
        _ count: Int, of unit: String, isResumed: Bool = false, typed: (String) -> String?
    ) throws(CommandFailure) {
        let number = ProgressLine.grouped(count)
        if let most, count > most {
            throw refusal("\(number) \(unit) are more than --most allows, which is \(ProgressLine.grouped(most))")
        }
        if let given {
            guard given == count || isResumed && given > count else {
                throw refusal("--confirm \(given) is not the number of \(unit), which is \(number)")
            }
            return
        }
        if isUnasked { return }
        if let mostUnasked, count <= mostUnasked { return }
        guard isTerminal else {
            let (options, code) = deed.missing(count)
            throw refusal(
                "there is no terminal to type the number of \(unit), which is \(number): give \(options)", code)
        }
        guard let line = typed("\(deed.warning) Type the number of \(unit) to continue: ") else {
            if isStopped() { throw CommandFailure(.notInTime, "stopped; \(deed.undone)") }
            throw refusal("the number of \(unit) was not typed")
        }
        let typed = line.trimmingCharacters(in: .whitespacesAndNewlines)
        guard typed == String(count) || typed == number else {
            throw refusal("what was typed is not the number of \(unit), which is \(number)")
        }
    }

    /// Prompts on the terminal.
    func judge(_ count: Int, of unit: String, isResumed: Bool = false) throws(CommandFailure) {
        try judge(count, of: unit, isResumed: isResumed) { prompt in
            Terminal.complain(prompt)
            return TypedLine.read(isStopped: isStopped)
        }
    }

    private func refusal(_ reason: String, _ code: ExitCode = .configuration) -> CommandFailure {
        CommandFailure(code, "\(reason); \(deed.undone)")
    }
}

/// Lines typed by a person.
enum TypedLine {
    private static let longest = 1_000

    /// Waits for a line of standard input.
    ///
    /// - Parameter isStopped: called five times a second; the signals that set it do not interrupt a read.
    /// - Returns: nil at the end of the input, and when stopped.
    static func read(isStopped: () -> Bool) -> String? {
        var bytes: [UInt8] = []
        while !isStopped(), bytes.count < longest {
            var ready = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            guard poll(&ready, 1, 200) > 0 else { continue }
            var byte: UInt8 = 0
            guard Foundation.read(STDIN_FILENO, &byte, 1) == 1 else { return nil }
            if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
        }
        return nil
    }
}
