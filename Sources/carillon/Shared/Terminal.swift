import Foundation
import Telemetry

/// Standard output and standard error. Whatever is in a text, only its line feeds get out as they are: the other control
/// characters are escaped here, and those of our own are written by functions of their own.
enum Terminal {
    static let errorIsTerminal = isatty(STDERR_FILENO) == 1
    static let inputIsTerminal = isatty(STDIN_FILENO) == 1

    /// Writes to standard output. A reader that has exited is no error.
    static func write(_ text: String) {
        write(text.inLines, to: STDOUT_FILENO)
    }

    /// Writes to standard error.
    static func complain(_ text: String) {
        write(text.inLines, to: STDERR_FILENO)
    }

    /// Writes what is going on to standard error, as `carillon: sentence`.
    static func tell(_ sentence: String) {
        complain("carillon: \(sentence.inOneLine)\n")
    }

    /// Writes a failure to standard error, as `carillon: sentence`.
    static func fail(_ sentence: String) {
        complain("carillon: \(sentence.inOneLine)\n", .red)
    }

    /// Writes what may be wrong, as `carillon: sentence`.
    static func warn(_ sentence: String) {
        complain("carillon: \(sentence.inOneLine)\n", .yellow)
    }

    /// Writes complaints to standard error, in a colour where that is a terminal with colours.
    static func complain(_ text: String, _ color: TerminalColor) {
        write(hasColors ? painted(text.inLines, color) : text.inLines, to: STDERR_FILENO)
    }

    /// Replaces the line at the bottom of the terminal of standard error; an empty text clears it.
    static func draw(_ line: String) {
        write("\r\u{1B}[K" + line.inOneLine.prefix(width - 1), to: STDERR_FILENO)
    }

    /// Writes log lines, which are escaped already and may have colours, to standard error.
    static func log(_ lines: [UInt8]) {
        write(lines, to: STDERR_FILENO)
    }

    private static let hasColors = TerminalColor.suits(STDERR_FILENO)

    /// Paints who complains in each line of `carillon …: sentence`: sentences are read more easily without.
    static func painted(_ text: String, _ color: TerminalColor) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            guard line.hasPrefix("carillon"), let colon = line.firstIndex(of: ":") else { return String(line) }
            return color.paint(String(line[...colon])) + line[line.index(after: colon)...]
        }.joined(separator: "\n")
    }

    /// Width of the terminal of standard error in columns; 80 if unknown.
    private static var width: Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    private static func write(_ text: String, to descriptor: Int32) {
        write(Array(text.utf8), to: descriptor)
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) {
        var bytes = bytes[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }
}
