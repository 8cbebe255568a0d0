import Foundation
import Telemetry

/// One line on standard error with the progress of a long command; nothing if that is no terminal.
///
/// Time is an argument, so that the text can be tested.
struct ProgressLine {
    private let unit: String
    private let start: ContinuousClock.Instant
    private var lastDrawn: ContinuousClock.Instant?

    init(unit: String, now: ContinuousClock.Instant = .now) {
        self.unit = unit
        self.start = now
    }

    /// Redraws at most ten times a second.
    /// - Parameter fraction: of the work, 0 to 1; nil if the total is unknown.
    mutating func show(_ done: Int, fraction: Double?, now: ContinuousClock.Instant = .now) {
        guard Terminal.errorIsTerminal, lastDrawn.map({ now - $0 >= .milliseconds(100) }) ?? true else { return }
        lastDrawn = now
        Terminal.draw(text(done, fraction: fraction, now: now))
    }

    /// Clears the line.
    func clear() {
        if lastDrawn != nil { Terminal.draw("") }
    }

    /// `12,000 subscriptions (24%), 8,000/s, 4s left`; without rate and time in the first second, which says nothing of
    /// the next ones.
    func text(_ done: Int, fraction: Double?, now: ContinuousClock.Instant) -> String {
        let seconds = (now - start) / .seconds(1)
        var text = "\(Self.grouped(done)) \(unit)"
        if let fraction { text += " (\(Int(fraction * 100))%)" }
        guard seconds >= 1 else { return text }
        text += ", \(NumberText.rate(Double(done) / seconds))/s"
        if let fraction, fraction > 0, fraction < 1 {
            text += ", \(Self.time(seconds * (1 - fraction) / fraction)) left"
        }
        return text
    }

    /// `12,000`.
    static func grouped(_ number: Int) -> String { NumberText.grouped(number) }

    /// `1 device`, `12,000 devices`.
    static func counted(_ number: Int, _ unit: String) -> String {
        "\(grouped(number)) \(unit)\(number == 1 ? "" : "s")"
    }

    /// `45s`, `3m05s`, `2h10m`.
    static func time(_ seconds: Double) -> String {
        let seconds = Int(min(seconds.rounded(.up), 1e9))
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        if seconds < 60 { return "\(seconds)s" }
        if seconds < 3_600 { return "\(seconds / 60)m\(two(seconds % 60))s" }
        return "\(seconds / 3_600)h\(two(seconds % 3_600 / 60))m"
    }
}
