import Hosting

/// The line of status, where something was decided since the last one, and the totals at the end.
struct RegistrarStatusLine: StatusLine {
    let meter: RegistrarMeter

    var reading: RegistrarMeter.Reading { meter.reading }

    func line(from last: RegistrarMeter.Reading, to now: RegistrarMeter.Reading, in time: Duration) -> String? {
        guard now != last else { return nil }
        return "\(Int(Double(now.commands - last.commands) / (time / .seconds(1)))) commands/s; "
            + "\(now.subscriptions - last.subscriptions) subscriptions changed"
    }

    func total(_ now: RegistrarMeter.Reading, in time: Duration) -> String {
        "ended: \(now.commands) commands, \(now.subscriptions) subscriptions changed"
    }
}
