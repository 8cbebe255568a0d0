import Hosting
import Pipeline

/// The line of status, where something was sent since the last one, and the totals at the end.
struct BroadcastStatusLine: StatusLine {
    private let meter: BroadcastMeter
    private var last: BroadcastMeter.Reading

    init(_ meter: BroadcastMeter) {
        self.meter = meter
        last = meter.reading
    }

    mutating func next(_ time: Duration) -> String? {
        let now = meter.reading
        guard now != last else { return nil }
        defer { last = now }
        return "\(Int(Double(now.reached - last.reached) / (time / .seconds(1)))) pushes/s; "
            + "\(now.passes - last.passes) passes ended; \(now.late - last.late) pushes to devices that joined later"
    }

    func total(_ time: Duration) -> String {
        let total = meter.reading
        return "ended: \(total.reached) pushes of broadcasts, and \(total.late) to devices that joined later"
    }
}
