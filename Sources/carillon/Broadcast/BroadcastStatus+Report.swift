import Broadcasts
import Notifications
import Telemetry

extension BroadcastStatus: Report {
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

    private var rate: String? {
        guard let perSecond else { return nil }
        return "\(NumberText.rate(perSecond))/s"
            + (timeLeft.map { ", about \(ProgressLine.time($0)) left" } ?? "")
    }
}
