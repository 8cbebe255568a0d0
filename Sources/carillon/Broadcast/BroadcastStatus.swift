import KafkaClient
import Notifications
import Telemetry

/// The progress of a broadcast.
struct BroadcastStatus: Report {
    private struct Partitions: Encodable {
        var total: Int
        var done: Int
        var underWay: Int
        var waiting: Int
        /// Cancelled, replaced or expired during the pass.
        var stopped: Int
        var withoutPass: Int
    }

    var entry: BroadcastLog.Entry
    var progress: BroadcastProgress
    var topic: String
    var now: WallTime

    private var state: BroadcastState { BroadcastState(entry, progress.stages, now: now) }
    private var record: RecordPosition { RecordPosition(topic, 0, entry.offset) }

    private enum CodingKeys: String, CodingKey {
        case id, messageID, audience, kind, publishedAt, expiresAt, record, state, reason, partitions, devicesCounted
        case devicesAbout, reached, stale, left, joinedLater, perSecond, secondsLeft
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(entry.id, forKey: .id)
        try members.encodeIfPresent(entry.broadcast?.messageID, forKey: .messageID)
        try members.encodeIfPresent(entry.broadcast?.audience, forKey: .audience)
        try members.encodeIfPresent(entry.broadcast?.kind, forKey: .kind)
        try members.encodeIfPresent(entry.broadcast?.publishedAt, forKey: .publishedAt)
        try members.encodeIfPresent(entry.broadcast?.expiresAt, forKey: .expiresAt)
        try members.encode(record, forKey: .record)
        try members.encode(state.rawValue, forKey: .state)
        switch entry.content {
        case .published: break
        case .failed(let letter): try members.encode("\(letter.code.label): \(letter.message)", forKey: .reason)
        }
        let stages = progress.stages
        let partitions = Partitions(
            total: progress.partitions, done: stages.done, underWay: stages.underWay, waiting: stages.waiting,
            stopped: stages.stopped, withoutPass: stages.without)
        try members.encode(partitions, forKey: .partitions)
        try members.encode(progress.countedDevices, forKey: .devicesCounted)
        // Absent where no pass has begun.
        let others = isOpen ? progress.waitingDevices : 0
        try members.encodeIfPresent(others.map { progress.countedDevices + $0 }, forKey: .devicesAbout)
        try members.encode(progress.reached, forKey: .reached)
        try members.encode(progress.stale, forKey: .stale)
        try members.encode(progress.left, forKey: .left)
        try members.encode(progress.late, forKey: .joinedLater)
        try members.encodeIfPresent(perSecond, forKey: .perSecond)
        try members.encodeIfPresent(timeLeft, forKey: .secondsLeft)
    }

    var rows: [Row] {
        var rows: [Row] = []
        if let broadcast = entry.broadcast {
            let milliseconds = broadcast.expiresAt - now
            let left = milliseconds > 0 ? "in \(ProgressLine.time(Double(milliseconds) / 1_000))" : "which is over"
            rows += [
                .pair("broadcast", "\(entry.id) (\(broadcast.kind))"), .pair("message", broadcast.messageID),
                .pair("audience", broadcast.audience), .pair("published", "\(broadcast.publishedAt)"),
                .pair("expires", "\(broadcast.expiresAt), \(left)"),
            ]
        } else {
            rows.append(.pair("broadcast", entry.id))
        }
        rows += [.pair("record", "\(record)"), .pair("state", stateText)]
        guard entry.broadcast != nil else { return rows }
        rows += [
            .pair("partitions", partitionsText), .pair("devices", devicesText),
            .pair("reached", ProgressLine.grouped(progress.reached)),
        ]
        if progress.stale > 0 {
            rows.append(.pair("stale", "\(ProgressLine.grouped(progress.stale)) were last seen too long ago"))
        }
        if progress.left > 0 {
            rows.append(.pair("left", "\(ProgressLine.grouped(progress.left)) unsubscribed before it came to them"))
        }
        rows.append(.pair("joined later", ProgressLine.grouped(progress.late)))
        if let rate { rows.append(.pair("rate", rate)) }
        return rows
    }

    private var stateText: String {
        switch (state, entry.content, entry.end) {
        case (.cancelled, _, .cancelled(let time?)): "cancelled at \(time.iso8601)"
        case (_, .failed(let letter), nil): "a dead letter, \(letter.code.label): \(letter.message)"
        case (.underWay, _, _): "under way"
        case (.waiting, _, _), (.done, _, _), (.cancelled, _, _), (.replaced, _, _), (.expired, _, _), (.failed, _, _):
            state.rawValue
        }
    }

    /// `5 of 12 done, 3 under way, 4 waiting`.
    private var partitionsText: String {
        let stages = progress.stages
        let others = [
            (stages.underWay, "under way"), (stages.waiting, "waiting"), (stages.stopped, "stopped before the end"),
            (stages.without, "without a pass"),
        ].filter { $0.0 > 0 }.map { ", \($0.0) \($0.1)" }
        return "\(stages.done) of \(progress.partitions) done" + others.joined()
    }

    private var devicesText: String {
        let counted = ProgressLine.grouped(progress.countedDevices)
        guard progress.stages.waiting > 0, isOpen else { return counted }
        guard let waiting = progress.waitingDevices else { return "not counted yet" }
        return "about \(ProgressLine.grouped(progress.countedDevices + waiting)), \(counted) of them counted"
    }

    /// Whether passes are still to come or to go on.
    private var isOpen: Bool {
        switch state {
        case .waiting, .underWay: true
        case .done, .cancelled, .replaced, .expired, .failed: false
        }
    }

    private var perSecond: Double? { isOpen ? progress.rate(now: now) : nil }

    /// In seconds.
    private var timeLeft: Double? {
        guard let perSecond, perSecond > 0, let remaining = progress.remaining else { return nil }
        return Double(remaining) / perSecond
    }

    private var rate: String? {
        guard let perSecond else { return nil }
        return "\(NumberText.rate(perSecond))/s"
            + (timeLeft.map { ", about \(ProgressLine.time($0)) left" } ?? "")
    }
}
