import Hosting
import Telemetry

/// The line of status: what was finished since the last one, and the totals at the end.
struct DeliveryStatusLine: StatusLine {
    private let meter: DeliveryMeter
    private let board: DeliveryBoard
    private var last: DeliveryMeter.Reading

    init(_ meter: DeliveryMeter, _ board: DeliveryBoard) {
        self.meter = meter
        self.board = board
        last = meter.reading
    }

    mutating func next(_ time: Duration) -> String? {
        let reading = meter.reading
        let seconds = time / .seconds(1)
        defer { last = reading }
        let rates = [
            "\(NumberText.rate(Double(reading.requests - last.requests) / seconds)) requests/s",
            "\(NumberText.rate(Double(reading.outcomes - last.outcomes) / seconds)) outcomes/s",
            "\(NumberText.rate(Double(reading.retries - last.retries) / seconds)) retries/s",
        ]
        let lanes = board.all.map { name, lane in
            let paused = lane.isPaused || !lane.pausedCredentials.isEmpty ? ", paused" : ""
            return "\(name): lag \(lane.lag.map(String.init) ?? "unknown"), in flight \(lane.inFlight)\(paused)"
        }
        return (rates + lanes).joined(separator: "; ")
    }

    func total(_ time: Duration) -> String {
        let reading = meter.reading
        return
            "ended: \(reading.requests) requests, \(reading.outcomes) outcomes, of which \(reading.accepted) accepted, "
            + "\(reading.retries) retries, in \(Int(time / .seconds(1))) s"
    }
}
