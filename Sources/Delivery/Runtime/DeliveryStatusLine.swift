import Telemetry

/// The line of status: what was finished since the last one, and the totals at the end.
struct DeliveryStatusLine {
    private var last: DeliveryMeter.Reading
    private var lastTime = ContinuousClock.now
    private let start = ContinuousClock.now

    init(_ reading: DeliveryMeter.Reading) {
        last = reading
    }

    /// Nil unless ten seconds have passed.
    mutating func next(_ reading: DeliveryMeter.Reading, _ board: DeliveryBoard) -> String? {
        guard .now - lastTime >= .seconds(10) else { return nil }
        let seconds = max(0.001, (.now - lastTime) / .seconds(1))
        defer {
            last = reading
            lastTime = .now
        }
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

    func total(_ reading: DeliveryMeter.Reading) -> String {
        "ended: \(reading.requests) requests, \(reading.outcomes) outcomes, of which \(reading.accepted) accepted, "
            + "\(reading.retries) retries, in \(Int((.now - start) / .seconds(1))) s"
    }
}
