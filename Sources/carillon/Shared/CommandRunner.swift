import Arguments
import Foundation

/// Runs one command line.
enum CommandRunner {
    /// Parses, runs and reports; never throws. Standard output gets what was asked for, standard error the rest.
    static func run(_ words: [String]) async -> ExitCode {
        // A reader that goes away (`carillon … | head`) ends a write with an error, not the process with a signal.
        signal(SIGPIPE, SIG_IGN)
        switch CommandParser(Carillon.self).parse(words) {
        case .print(let text):
            Terminal.write(text)
            return .success
        case .usage(let problems):
            Terminal.complain(problems)
            return .usage
        case .run(let command):
            do {
                try await command.run()
                return .success
            } catch {
                let failure = CommandFailure(error)
                Terminal.complain(failure.lines.map { "carillon: \($0)\n" }.joined())
                return failure.code
            }
        }
    }
}
