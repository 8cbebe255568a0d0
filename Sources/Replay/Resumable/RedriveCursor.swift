import Foundation
import KafkaClient

/// How far a re-drive is, and what it needs to resume: the text of its positions. The counts of the cursor with the
/// most pushes are current; the ranges are each partition's own.
package struct RedriveCursor: Equatable, Sendable {
    /// A digest of the options and the rules.
    package var request = ""
    /// The selected events of the partition.
    package var range: Range<Int64> = 0..<0
    /// The earliest time at which the dispatch topic has their pushes; nil: from its beginning.
    package var from: WallTime?
    /// When it was first started.
    package var began = WallTime.epoch
    /// The number of devices that a person has confirmed.
    package var devices = 0
    package var sent = 0
    /// Pushes that the broker rejects.
    package var refused = 0
    /// Pushes that were left out when their turn came, by reason.
    package var leftOut: [RedriveOmission: Int] = [:]
    /// The last push that was sent, by its position in the list; empty: none.
    package var key: [UInt8] = []
    package var isDone = false

    package init() {}

    /// Pushes of the list that are done: sent, rejected or left out.
    package var settled: Int { sent + refused + leftOut.values.reduce(0, +) }
    /// Confirmed pushes that are missing from the list of the resumed run. Set once all is done.
    package var dropped: Int { isDone ? max(0, devices - settled) : 0 }

    package var text: String {
        var words = [
            "request=\(request)", "range=\(range.lowerBound)..\(range.upperBound)", "began=\(began.milliseconds)",
            "devices=\(devices)", "sent=\(sent)", "refused=\(refused)",
        ]
        let left = leftOut.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key.rawValue):\($0.value)" }
        if !left.isEmpty { words.append("left=\(left.joined(separator: ","))") }
        if let from { words.append("from=\(from.milliseconds)") }
        if !key.isEmpty { words.append("key=\(Data(key).base64EncodedString())") }
        if isDone { words.append("done=1") }
        return words.joined(separator: " ")
    }

    /// - Returns: nil if the text is no cursor. Ignores words of later versions.
    package init?(_ text: String) {
        var words: [Substring: Substring] = [:]
        for word in text.split(separator: " ") {
            let pair = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2 else { return nil }
            words[pair[0]] = pair[1]
        }
        func number(_ name: Substring) -> Int64? { words[name].flatMap { Int64($0) } }
        guard let request = words["request"], let range = words["range"].flatMap(Self.range),
            let began = number("began"), let devices = number("devices"), let sent = number("sent"),
            let refused = number("refused"), devices >= 0, sent >= 0, refused >= 0
        else { return nil }
        if let encoded = words["key"] {
            guard let key = Data(base64Encoded: String(encoded)) else { return nil }
            self.key = Array(key)
        }
        if let left = words["left"] {
            guard let counts = Self.counts(left) else { return nil }
            leftOut = counts
        }
        self.request = String(request)
        self.range = range
        self.began = WallTime(milliseconds: began)
        self.devices = Int(devices)
        self.sent = Int(sent)
        self.refused = Int(refused)
        from = number("from").map(WallTime.init(milliseconds:))
        isDone = words["done"] == "1"
    }

    private static func counts(_ text: Substring) -> [RedriveOmission: Int]? {
        var counts: [RedriveOmission: Int] = [:]
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            let pair = word.split(separator: ":", omittingEmptySubsequences: false)
            guard pair.count == 2, let reason = RedriveOmission(rawValue: String(pair[0])), let count = Int(pair[1]),
                count >= 0
            else { return nil }
            counts[reason] = count
        }
        return counts
    }

    private static func range(_ text: Substring) -> Range<Int64>? {
        guard let dots = text.range(of: ".."), let start = Int64(text[..<dots.lowerBound]),
            let end = Int64(text[dots.upperBound...]), 0 <= start, start <= end
        else { return nil }
        return start..<end
    }
}

/// What an interrupted re-drive has committed.
package struct RedriveResume: Equatable, Sendable {
    /// The current counts.
    package var cursor: RedriveCursor
    /// By partition, the selected offsets.
    package var ranges: [SourcePartition: Range<Int64>]

    /// - Returns: nil if nothing was ever sent under the id.
    /// - Throws: ``ReplayRefusal`` for positions of another command or another version.
    package init?(
        _ positions: [TopicPartition: RedrivePosition], of topics: PipelineConfiguration.Topics, id: String
    ) throws(ReplayRefusal) {
        ranges = [:]
        var latest: RedriveCursor?
        for (partition, position) in positions {
            guard let cursor = RedriveCursor(position.text) else {
                throw ReplayRefusal("--id \(id) is that of another command; choose another one")
            }
            if let partition = topics.sourcePartition(of: partition) { ranges[partition] = cursor.range }
            guard let known = latest else {
                latest = cursor
                continue
            }
            if (known.settled, known.isDone ? 1 : 0) < (cursor.settled, cursor.isDone ? 1 : 0) { latest = cursor }
        }
        guard let latest else { return nil }
        cursor = latest
    }

    /// - Throws: ``ReplayRefusal`` if it was started with other options.
    package func check(_ request: RedriveRequest, id: String) throws(ReplayRefusal) {
        guard cursor.request != request.digest else { return }
        throw ReplayRefusal(
            "--id \(id) was started with other options or rules: resume it with the same ones, or choose another --id")
    }
}
