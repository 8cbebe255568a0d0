/// The line of status: what was committed since the last one, and the totals at the end.
struct PipelineStatusLine: StatusLine {
    let meter: PipelineMeter

    var reading: PipelineMeter.Reading { meter.reading }

    func line(from last: PipelineMeter.Reading, to now: PipelineMeter.Reading, in time: Duration) -> String? {
        let seconds = time / .seconds(1)
        let events = Double(now.counts.events - last.counts.events) / seconds
        let dispatches = Double(now.counts.dispatches - last.counts.dispatches) / seconds
        return "\(NumberText.rate(events)) events/s, \(NumberText.rate(dispatches)) dispatches/s, "
            + "lag \(now.lag.map(String.init) ?? "unknown"), "
            + "dead letters \(now.counts.deadLetters), partitions \(now.partitions)"
    }

    func total(_ now: PipelineMeter.Reading, in time: Duration) -> String {
        let counts = now.counts
        return "ended: \(counts.events) events, \(counts.dispatches) dispatches, dead letters \(counts.deadLetters), "
            + "in \(Int(time / .seconds(1))) s"
    }
}
