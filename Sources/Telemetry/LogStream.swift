import Foundation

/// A sink that writes each entry as one line to a file descriptor or to a function.
///
/// An entry is one `write`, so that lines of several threads and processes do not mix. A failed write is dropped: a log
/// that cannot be written must not stop the program.
public struct LogStream: LogSink {
    public enum Format: String, CaseIterable, Sendable {
        /// `16:14:01.042 info  carillon.worker: sentence key=value`, for a person.
        case text
        /// One JSON object per line, for a collector.
        case json
    }

    public let format: Format
    private let hasColors: Bool
    private let output: @Sendable ([UInt8]) -> Void

    /// - Parameter hasColors: whether the level of warnings and errors is coloured in text.
    public init(format: Format, hasColors: Bool = false, output: @escaping @Sendable ([UInt8]) -> Void) {
        self.format = format
        self.hasColors = hasColors
        self.output = output
    }

    /// Text has colours where the descriptor is a terminal that takes them.
    public init(format: Format, descriptor: Int32) {
        self.init(format: format, hasColors: TerminalColor.suits(descriptor)) { line in
            _ = line.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        }
    }

    /// Standard error: text where it is a terminal, else JSON lines.
    public static let standardError = LogStream(
        format: isatty(STDERR_FILENO) == 1 ? .text : .json, descriptor: STDERR_FILENO)

    public func write(_ entry: LogEntry) {
        switch format {
        case .text: output(entry.textLine(hasColors: hasColors))
        case .json: output(entry.jsonLine())
        }
    }
}
