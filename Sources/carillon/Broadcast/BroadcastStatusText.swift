import Events
import Telemetry

/// How far a broadcast has got, for a person, and as JSON.
struct BroadcastStatusText {
    var entry: BroadcastLog.Entry
    var progress: BroadcastProgress
    var topic: String
    /// Milliseconds since 1970.
    var now: Int64

    private var state: BroadcastState { BroadcastState(entry, progress.stages, now: now) }

    var text: String {
        var rows: [(name: String, value: String)] = [("broadcast", entry.id)]
        if let broadcast = entry.broadcast {
            let expiry = broadcast.expiresAt.milliseconds
            let left = expiry > now ? "in \(ProgressLine.time(Double(expiry - now) / 1_000))" : "which is over"
            rows[0].value += " (\(broadcast.kind))"
            rows += [
                ("message", broadcast.messageID), ("audience", broadcast.audience),
                ("published", TimeText.iso8601(broadcast.publishedAt.milliseconds)),
                ("expires", "\(TimeText.iso8601(expiry)), \(left)"),
            ]
        }
        rows.append(("record", "\(topic)/0/\(entry.offset)"))
        rows.append(("state", stateText))
        guard entry.broadcast != nil else { return TextRows.text(rows) }
        rows.append(("partitions", partitionsText))
        rows.append(("devices", devicesText))
        rows.append(("reached", ProgressLine.grouped(progress.reached)))
        if progress.stale > 0 {
            rows.append(("stale", "\(ProgressLine.grouped(progress.stale)) were last seen too long ago"))
        }
        if progress.left > 0 {
            rows.append(("left", "\(ProgressLine.grouped(progress.left)) unsubscribed before it came to them"))
        }
        rows.append(("joined later", ProgressLine.grouped(progress.late)))
        if let rate { rows.append(("rate", rate)) }
        return TextRows.text(rows)
    }

    private var stateText: String {
        switch (state, entry.content, entry.end) {
        case (.cancelled, _, .cancelled(let time?)): "cancelled at \(TimeText.iso8601(time))"
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

    // MARK: JSON

    struct Document: Encodable {
        struct Partitions: Encodable {
            var total: Int
            var done: Int
            var underWay: Int
            var waiting: Int
            /// Cancelled, replaced or expired during the pass.
            var stopped: Int
            var withoutPass: Int
        }

        var id: String
        var messageID: String?
        var audience: String?
        var kind: String?
        var publishedAt: String?
        var expiresAt: String?
        var record: String
        var state: String
        /// Of one that cannot be sent.
        var reason: String?
        var partitions: Partitions
        /// Of the passes that have begun.
        var devicesCounted: Int
        /// Of all; absent where none has begun.
        var devicesAbout: Int?
        var reached: Int
        var stale: Int
        var left: Int
        var joinedLater: Int
        var perSecond: Double?
        var secondsLeft: Double?
    }

    var document: Document {
        let stages = progress.stages
        let broadcast = entry.broadcast
        var document = Document(
            id: entry.id, messageID: broadcast?.messageID, audience: broadcast?.audience, kind: broadcast?.kind,
            publishedAt: (broadcast?.publishedAt.milliseconds).map(TimeText.iso8601),
            expiresAt: (broadcast?.expiresAt.milliseconds).map(TimeText.iso8601), record: "\(topic)/0/\(entry.offset)",
            state: state.rawValue,
            partitions: .init(
                total: progress.partitions, done: stages.done, underWay: stages.underWay, waiting: stages.waiting,
                stopped: stages.stopped, withoutPass: stages.without), devicesCounted: progress.countedDevices,
            devicesAbout: (isOpen ? progress.waitingDevices : 0).map { progress.countedDevices + $0 },
            reached: progress.reached, stale: progress.stale, left: progress.left, joinedLater: progress.late,
            perSecond: perSecond, secondsLeft: timeLeft)
        switch entry.content {
        case .published: break
        case .failed(let letter): document.reason = "\(letter.code.label): \(letter.message)"
        }
        return document
    }
}
