import Foundation

/// The second confirmation of a command that notifies people: the number that its plan has told, typed or given as an option.
struct NotifyConfirmation {
    /// What is to be confirmed.
    var count: Int
    /// `devices`, `events`.
    var unit: String
    /// The option that has the number, `--confirm-devices`.
    var option: String
    /// What was given with it.
    var given: Int?
    /// Whether somebody can be asked.
    var isTerminal = Terminal.inputIsTerminal

    /// Asks, unless the number was given.
    ///
    /// - Parameter readLine: what was typed; nil at the end of the input.
    /// - Throws: exit code 78 and why, for everything but the right number.
    func check(
        ask: (String) -> Void = Terminal.complain, readLine: () -> String?
    ) throws(CommandFailure) {
        let number = ProgressLine.grouped(count)
        if let given {
            guard given == count else {
                throw Self.refusal("\(option) \(given) is not the number of \(unit), which is \(number)")
            }
            return
        }
        guard isTerminal else {
            throw Self.refusal("nobody can be asked for the number of \(unit): give \(option) \(count)")
        }
        ask("This notifies people. Type the number of \(unit) to go on: ")
        guard let line = readLine() else {
            throw Self.refusal("the number of \(unit) was not typed")
        }
        let typed = line.trimmingCharacters(in: .whitespacesAndNewlines)
        guard typed == String(count) || typed == number else {
            throw Self.refusal("what was typed is not the number of \(unit), which is \(number)")
        }
    }

    private static func refusal(_ reason: String) -> CommandFailure {
        CommandFailure(.configuration, "\(reason); nothing was sent")
    }
}

/// Lines that are typed.
enum TypedLine {
    private static let longest = 1_000

    /// Waits for a line of standard input.
    ///
    /// - Parameter isStopped: looked at five times a second; the signals that set it do not end a read.
    /// - Returns: nil at the end of the input, and when it was stopped.
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
