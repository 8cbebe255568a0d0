import Pipeline

/// Finds what the records of `topic.broadcasts` say: for the daemon, and for the commands that show or write them. One
/// owner.
package struct BroadcastReader: ~Copyable {
    private let topic: String
    private var extractor: BroadcastExtractor
    /// Shows which broadcasts are too large.
    private var renderer: BroadcastRenderer

    /// - Parameter findings: gets everything that is wrong with the record that was read last.
    package init(topic: String, settings: RenderSettings, findings: RequestFindings? = nil) {
        self.topic = topic
        extractor = BroadcastExtractor(findings: findings)
        renderer = BroadcastRenderer(settings: settings)
    }

    /// - Parameter record: one that has a value.
    package mutating func read(_ record: BroadcastRecord) -> StoredBroadcast {
        StoredBroadcast(record) { event, headers in
            if let letter = record.unreadable { return .failed(letter) }
            switch extractor.extract(event, headers: headers[...]) {
            case .published(let broadcast):
                if let letter = renderer.begin(broadcast, from: event, of: topic, headers: headers) {
                    return .failed(letter)
                }
                return .published(broadcast, audience: ChannelHash(of: broadcast.audience))
            // A record with a value cancels nothing.
            case .cancelled: return .failed(.cancelledNothing)
            case .deadLetter(let letter): return .failed(letter)
            }
        }
    }
}
