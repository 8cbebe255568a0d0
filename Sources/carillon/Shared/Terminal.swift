import Foundation

/// Standard output and standard error.
enum Terminal {
    static let errorIsTerminal = isatty(STDERR_FILENO) == 1
    static let outputIsTerminal = isatty(STDOUT_FILENO) == 1
    static let inputIsTerminal = isatty(STDIN_FILENO) == 1

    /// Writes to standard output. A reader that has exited is no error.
    static func write(_ text: String) {
        write(text, to: STDOUT_FILENO)
    }

    /// Writes to standard error.
    static func complain(_ text: String) {
        write(text, to: STDERR_FILENO)
    }

    /// Width of the terminal of standard error in columns; 80 if unknown.
    static var width: Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    private static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }
}
