import Foundation
import Pipeline
import Synchronization

/// One line at the bottom of a terminal that shows the pipeline at work; nothing if standard error is no terminal.
///
/// Log lines are written through it, so that the two do not mix. Any thread.
final class LiveDisplay: Sendable {
    private struct State {
        var isRunning = false
        var isDrawn = false
    }

    private let state = Mutex(State())

    /// Redraws twice a second until ``stop()``.
    func start(_ meter: PipelineMeter) {
        guard Terminal.errorIsTerminal else { return }
        state.withLock { $0.isRunning = true }
        Thread.detachNewThread { [self] in
            var last = (events: 0, dispatches: 0, time: ContinuousClock.now)
            while state.withLock({ $0.isRunning }) {
                Thread.sleep(forTimeInterval: 0.5)
                let reading = meter.reading
                let seconds = (ContinuousClock.now - last.time) / .seconds(1)
                let events = Double(reading.counts.events - last.events) / seconds
                let dispatches = Double(reading.counts.dispatches - last.dispatches) / seconds
                last = (reading.counts.events, reading.counts.dispatches, .now)
                draw(Self.text(reading, events: events, dispatches: dispatches))
            }
        }
    }

    /// `12,000 events/s  36,000 dispatches/s  lag 0  2 dead letters  6 partitions`
    static func text(_ reading: PipelineMeter.Reading, events: Double, dispatches: Double) -> String {
        "\(NumberText.rate(events)) events/s  \(NumberText.rate(dispatches)) dispatches/s  "
            + "lag \(reading.lag.map(ProgressLine.grouped) ?? "?")  "
            + "\(ProgressLine.grouped(reading.counts.deadLetters)) dead letters  \(reading.partitions) partitions"
    }

    func stop() {
        state.withLock { state in
            state.isRunning = false
            Self.clear(&state)
        }
    }

    /// Writes above the line.
    func write(_ bytes: [UInt8]) {
        state.withLock { state in
            Self.clear(&state)
            Terminal.log(bytes)
        }
    }

    private func draw(_ text: String) {
        state.withLock { state in
            guard state.isRunning else { return }
            Terminal.draw(text)
            state.isDrawn = true
        }
    }

    private static func clear(_ state: inout State) {
        guard state.isDrawn else { return }
        Terminal.draw("")
        state.isDrawn = false
    }
}

extension PipelineConfiguration {
    /// The logger of ``makeLogger(label:)``, with its lines above the live display.
    func makeLogger(around display: LiveDisplay) -> Logger {
        guard Terminal.errorIsTerminal else { return makeLogger() }
        let sink = LogStream(
            format: logFormat ?? .text, hasColors: TerminalColor.suits(STDERR_FILENO)
        ) { display.write($0) }
        return Logger(label: "carillon", level: logLevel, sink: sink)
    }
}
