import CCurl
import Synchronization

/// What goes between the callers' threads and the client's own.
final class Mailbox: Sendable {
    enum Command {
        case submit([HTTPRequest])
        case cancel([UInt64])
        /// Ends the thread when every request has its result, and at this time at the latest.
        case close(deadline: UInt64)
    }

    private struct Contents {
        var commands: [Command] = []
        var results: [HTTPResult] = []
        var opened: UInt64 = 0
        /// nil once the thread has ended. Not used by two threads but for `curl_multi_wakeup`, which allows it.
        var multi: MultiHandle?
        /// Whether the thread has been woken and has not looked yet.
        var isWoken = false
    }

    /// `@unchecked Sendable`: only for `curl_multi_wakeup`, the one function of libcurl that any thread may call.
    struct MultiHandle: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private let contents: Mutex<Contents>

    init(_ multi: MultiHandle) {
        contents = Mutex(Contents(multi: multi))
    }

    /// False if the thread has ended: nobody will carry it out.
    func send(_ command: Command) -> Bool {
        contents.withLock { contents in
            guard let multi = contents.multi else { return false }
            contents.commands.append(command)
            if !contents.isWoken {
                contents.isWoken = true
                curl_multi_wakeup(multi.pointer)
            }
            return true
        }
    }

    /// Exchanges the commands for an empty array whose storage is used again.
    func takeCommands(into commands: inout [Command]) {
        commands.removeAll(keepingCapacity: true)
        contents.withLock { contents in
            swap(&contents.commands, &commands)
            contents.isWoken = false
        }
    }

    /// True if there were no results: their taker has to be told.
    func add(_ results: inout [HTTPResult], opened: UInt64) -> Bool {
        contents.withLock { contents in
            contents.opened = opened
            guard !results.isEmpty else { return false }
            let isFirst = contents.results.isEmpty
            if isFirst { swap(&contents.results, &results) } else { contents.results += results }
            results.removeAll(keepingCapacity: true)
            return isFirst
        }
    }

    func takeResults(into results: inout [HTTPResult]) {
        contents.withLock { contents in
            if results.isEmpty {
                swap(&contents.results, &results)
            } else {
                results += contents.results
                contents.results.removeAll(keepingCapacity: true)
            }
        }
    }

    var opened: UInt64 { contents.withLock { $0.opened } }

    /// After it `send` refuses; returns the commands that came too late.
    func end() -> [Command] {
        contents.withLock { contents in
            contents.multi = nil
            defer { contents.commands = [] }
            return contents.commands
        }
    }
}
