import Hosting
import Pipeline

/// The line of status, where something was sent since the last one, and the totals at the end.
struct BroadcastStatusLine: StatusLine {
    let meter: BroadcastMeter

    var reading: BroadcastMeter.Reading { meter.reading }

    func line(from last: BroadcastMeter.Reading, to now: BroadcastMeter.Reading, in time: Duration) -> String? {
        guard now != last else { return nil }
        return "\(Int(Double(now.reached - last.reached) / (time / .seconds(1)))) pushes/s; "
            + "\(now.passes - last.passes) passes ended; \(now.late - last.late) pushes to devices that joined later"
    }

    func total(_ now: BroadcastMeter.Reading, in time: Duration) -> String {
        "ended: \(now.reached) pushes of broadcasts, and \(now.late) to devices that joined later"
    }
}
