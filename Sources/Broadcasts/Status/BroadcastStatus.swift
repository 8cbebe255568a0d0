import KafkaClient
import Pipeline

/// The progress of a broadcast, as JSON has it.
package struct BroadcastStatus: Encodable {
    private struct Partitions: Encodable {
        var total: Int
        var done: Int
        var underWay: Int
        var waiting: Int
        /// Cancelled, replaced or expired during the pass.
        var stopped: Int
        var withoutPass: Int
    }

    package var entry: BroadcastLog.Entry
    package var progress: BroadcastProgress
    package var topic: String
    package var now: WallTime

    package init(entry: BroadcastLog.Entry, progress: BroadcastProgress, topic: String, now: WallTime) {
        (self.entry, self.progress, self.topic, self.now) = (entry, progress, topic, now)
    }

    package var state: BroadcastState { BroadcastState(entry, progress.stages, now: now) }
    package var record: RecordPosition { RecordPosition(topic, 0, entry.offset) }

    private enum CodingKeys: String, CodingKey {
        case id, messageID, audience, kind, publishedAt, expiresAt, record, state, reason, partitions, devicesCounted
        case devicesAbout, reached, stale, left, joinedLater, perSecond, secondsLeft
    }

    package func encode(to encoder: any Encoder) throws {
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

    /// Whether passes are still to come or to go on.
    package var isOpen: Bool {
        switch state {
        case .waiting, .underWay: true
        case .done, .cancelled, .replaced, .expired, .failed: false
        }
    }

    package var perSecond: Double? { isOpen ? progress.rate(now: now) : nil }

    /// In seconds.
    package var timeLeft: Double? {
        guard let perSecond, perSecond > 0, let remaining = progress.remaining else { return nil }
        return Double(remaining) / perSecond
    }
}
