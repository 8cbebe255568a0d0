/// The line of status: what was committed since the last one, and the totals at the end.
struct StatusReport: StatusLine {
    private let meter: PipelineMeter
    private var last: PipelineMeter.Reading

    init(_ meter: PipelineMeter) {
        self.meter = meter
        last = meter.reading
    }

    mutating func next(_ time: Duration) -> String? {
        let reading = meter.reading
        let seconds = time / .seconds(1)
        defer { last = reading }
        let events = Double(reading.counts.events - last.counts.events) / seconds
        let dispatches = Double(reading.counts.dispatches - last.counts.dispatches) / seconds
        return
            "\(NumberText.rate(events)) events/s, \(NumberText.rate(dispatches)) dispatches/s, lag \(reading.lag.map(String.init) ?? "unknown"), "
            + "dead letters \(reading.counts.deadLetters), partitions \(reading.partitions)"
    }

    func total(_ time: Duration) -> String {
        let counts = meter.reading.counts
        return "ended: \(counts.events) events, \(counts.dispatches) dispatches, dead letters \(counts.deadLetters), "
            + "in \(Int(time / .seconds(1))) s"
    }
}
