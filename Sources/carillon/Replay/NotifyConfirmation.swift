import Foundation

/// The second confirmation of a command that notifies people: the number that its plan reported, typed or given as an
/// option.
struct NotifyConfirmation {
    /// The number to be confirmed.
    var count: Int
    /// `devices` or `events`.
    var unit: String
    /// The option that gives the number, such as `--confirm-devices`.
    var option: String
    /// The value of that option.
    var given: Int?
    /// Whether a person can be prompted.
    var isTerminal = Terminal.inputIsTerminal

    /// Prompts, unless the number was given.
    ///
    /// - Parameter readLine: returns the typed line; nil at the end of the input.
    /// - Throws: exit code 78 and the reason, unless the number is right.
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
            throw Self.refusal("there is no terminal to type the number of \(unit): give \(option) \(count)")
        }
        ask("This notifies people. Type the number of \(unit) to continue: ")
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
