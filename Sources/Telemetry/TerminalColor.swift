import Foundation

/// A colour on a terminal, for what a person has to see.
package enum TerminalColor: String, Sendable {
    case red = "31"
    case yellow = "33"

    package func paint(_ text: String) -> String { "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" }

    /// Whether text to a file descriptor may have colours: only on a terminal that has them, and not if NO_COLOR is set
    /// to anything (no-color.org).
    package static func suits(
        _ descriptor: Int32, environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> Bool {
        isatty(descriptor) == 1 && environment["TERM"] != "dumb" && environment["NO_COLOR"]?.isEmpty ?? true
    }
}

extension Logger.Level {
    /// Nil for what is only information.
    var color: TerminalColor? {
        switch self {
        case .trace, .debug, .info, .notice: nil
        case .warning: .yellow
        case .error, .critical: .red
        }
    }
}
