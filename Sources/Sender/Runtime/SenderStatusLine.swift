import Hosting
import Telemetry

/// The line of status: what was finished since the last one, and the totals at the end.
struct SenderStatusLine: StatusLine {
    let meter: SenderMeter
    let board: SenderBoard

    var reading: SenderMeter.Reading { meter.reading }

    func line(from last: SenderMeter.Reading, to now: SenderMeter.Reading, in time: Duration) -> String? {
        let seconds = time / .seconds(1)
        let rates = [
            "\(NumberText.rate(Double(now.requests - last.requests) / seconds)) requests/s",
            "\(NumberText.rate(Double(now.outcomes - last.outcomes) / seconds)) outcomes/s",
            "\(NumberText.rate(Double(now.retries - last.retries) / seconds)) retries/s",
        ]
        let lanes = board.all.map { provider, lane in
            let paused = lane.isPaused || !lane.pausedCredentials.isEmpty || !lane.holds.isEmpty ? ", paused" : ""
            return
                "\(provider.rawValue): lag \(lane.lag.map(String.init) ?? "unknown"), in flight \(lane.inFlight)\(paused)"
        }
        return (rates + lanes).joined(separator: "; ")
    }

    func total(_ now: SenderMeter.Reading, in time: Duration) -> String {
        "ended: \(now.requests) requests, \(now.outcomes) outcomes, of which \(now.accepted) accepted, "
            + "\(now.retries) retries, in \(Int(time / .seconds(1))) s"
    }
}
