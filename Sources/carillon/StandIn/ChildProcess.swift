import Foundation
import Synchronization

/// A command that runs in the place of this process: it has its standard input, output and error, gets its signals, and
/// says how it ends.
enum ChildProcess {
    /// How a shell says that there is no such command, and that it cannot be run.
    static let (notFound, notRunnable) = (Int32(127), Int32(126))

    /// Runs a command until it ends. SIGTERM and SIGINT are handed on to it from then on, each time that one comes.
    ///
    /// - Parameters:
    ///   - words: the command, which is searched in `PATH`, and its arguments; not empty.
    ///   - environment: all of it.
    /// - Returns: its exit code; 128 and the signal's number if a signal ended it.
    /// - Throws: `CommandFailure.Unstartable` if it cannot be started.
    static func run(_ words: [String], environment: [String: String]) throws(Unstartable) -> Int32 {
        let signals = [SIGTERM, SIGINT]
        for number in signals { forward(number) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Signals that this process ignores or handles must reach the command as they would from a shell.
        var (defaults, none) = (sigset_t(), sigset_t())
        sigemptyset(&defaults)
        sigemptyset(&none)
        for number in signals + [SIGPIPE] { sigaddset(&defaults, number) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))

        var pid = pid_t()
        let status = withStrings(words) { words in
            withStrings(environment.map { "\($0.key)=\($0.value)" }) {
                posix_spawnp(&pid, words[0]!, nil, &attributes, words, $0)
            }
        }
        guard status == 0 else { throw Unstartable(command: words[0], error: status) }
        Handover.child.store(pid, ordering: .sequentiallyConsistent)
        Handover.handOver()
        // Until it is taken off the list below, nobody else has its number.
        var info = siginfo_t()
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        Handover.child.store(0, ordering: .sequentiallyConsistent)
        var ended: Int32 = 0
        while waitpid(pid, &ended, 0) < 0, errno == EINTR {}
        let signal = ended & 0x7F
        return signal == 0 ? (ended >> 8) & 0xFF : 128 + signal
    }

    struct Unstartable: Error {
        var command: String
        var error: Int32

        var exitCode: Int32 { error == ENOENT ? ChildProcess.notFound : ChildProcess.notRunnable }
    }

    /// A terminal sends its SIGINT to every process in the foreground: the command has got that already.
    private static func forward(_ number: Int32) {
        var action = sigaction()
        action.__sigaction_handler.sa_sigaction = { number, info, _ in
            guard let info, info.pointee.si_code <= 0 else { return }
            Handover.waiting.store(number, ordering: .sequentiallyConsistent)
            Handover.handOver()
        }
        action.sa_flags = SA_SIGINFO | SA_RESTART
        sigaction(number, &action, nil)
    }

    private static func withStrings<Result>(
        _ texts: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers = texts.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        return body(&pointers)
    }
}

/// The signal that the command is to get, and the command. Handlers of signals use it: nothing here waits or allocates.
private enum Handover {
    static let child = Atomic<pid_t>(0)
    static let waiting = Atomic<Int32>(0)

    /// Whoever stored the later of the two sends the signal, and only one does.
    static func handOver() {
        let pid = child.load(ordering: .sequentiallyConsistent)
        guard pid != 0 else { return }
        let number = waiting.exchange(0, ordering: .sequentiallyConsistent)
        if number != 0 { kill(pid, number) }
    }
}
