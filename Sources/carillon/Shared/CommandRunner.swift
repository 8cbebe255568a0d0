import Arguments
import Foundation

/// Runs one command line.
enum CommandRunner {
    /// Parses, runs and reports; never throws. The result is on standard output, everything else on standard error.
    static func run(_ words: [String]) async -> ExitCode {
        // If the reader exits (`carillon … | head`), a write fails with an error instead of a signal that ends the
        // process.
        signal(SIGPIPE, SIG_IGN)
        switch CommandParser(Carillon.self).parse(words) {
        case .print(let text):
            Terminal.write(text)
            return .success
        case .usage(let problems):
            Terminal.complain(problems, .red)
            return .usage
        case .run(let command):
            defer { BrokerNotice.end() }
            do {
                try await command.run()
                return .success
            } catch {
                let failure = CommandFailure(error)
                for line in failure.lines { Terminal.fail(line) }
                return failure.code
            }
        }
    }
}
