import Foundation

/// The second confirmation of a command that notifies people, or ends what they get: the number that its plan
/// reported, typed or given as an option.
struct NotifyConfirmation {
    /// What is done once it is confirmed.
    enum Deed {
        case notify, delete, cancel, move

        var warning: String {
            switch self {
            case .notify: "This notifies people."
            case .delete: "This deletes subscriptions."
            case .cancel: "This cancels a broadcast."
            case .move: "Whoever is subscribed anew gets pushes from now on."
            }
        }
    }

    var deed = Deed.notify
    /// The number to be confirmed.
    var count: Int
    /// `devices` or `events`.
    var unit: String
    /// The option that takes the place of typing it: `--confirm-devices`, which gives the number, or `--yes`, which does
    /// not.
    var option: String
    /// Whether that option gives the number.
    var optionHasNumber = true
    /// The number that it gave.
    var given: Int?
    /// Whether a person can be prompted.
    var isTerminal = Terminal.inputIsTerminal

    /// Prompts, unless the number was given.
    ///
    /// - Parameter readLine: returns the typed line; nil at the end of the input.
    /// - Throws: the reason, unless the number is right: exit code 78, or 64 where only a flag without a number is missing.
    func check(
        ask: (String) -> Void = Terminal.complain, readLine: () -> String?
    ) throws(CommandFailure) {
        let number = ProgressLine.grouped(count)
        if let given {
            guard given == count else {
                throw refusal("\(option) \(given) is not the number of \(unit), which is \(number)")
            }
            return
        }
        guard isTerminal else {
            guard optionHasNumber else {
                throw refusal(
                    "there is no terminal to confirm the number of \(unit), which is \(number): give \(option)", .usage)
            }
            throw refusal("there is no terminal to type the number of \(unit): give \(option) \(count)")
        }
        ask("\(deed.warning) Type the number of \(unit) to continue: ")
        guard let line = readLine() else {
            throw refusal("the number of \(unit) was not typed")
        }
        let typed = line.trimmingCharacters(in: .whitespacesAndNewlines)
        guard typed == String(count) || typed == number else {
            throw refusal("what was typed is not the number of \(unit), which is \(number)")
        }
    }

    private func refusal(_ reason: String, _ code: ExitCode = .configuration) -> CommandFailure {
        switch deed {
        case .notify: CommandFailure(code, "\(reason); nothing was sent")
        case .delete: CommandFailure(code, "\(reason); nothing was deleted")
        case .cancel: CommandFailure(code, "\(reason); nothing was cancelled")
        case .move: CommandFailure(code, "\(reason); nothing was moved")
        }
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
