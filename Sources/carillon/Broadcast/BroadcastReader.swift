import Pipeline

/// Reads records of `topic.broadcasts` by the rules of `carillon broadcasts`. One owner.
struct BroadcastReader: ~Copyable {
    private let topic: String
    private var extractor = BroadcastExtractor()
    /// Shows which broadcasts are too large.
    private var renderer: BroadcastRenderer

    init(_ configuration: PipelineConfiguration) {
        topic = configuration.topics.broadcasts
        renderer = BroadcastRenderer(settings: configuration.rendering)
    }

    /// What a record says; one that cannot be rendered has failed.
    mutating func read(_ record: BroadcastRecord) -> BroadcastLog.Content {
        var bytes: [UInt8] = []
        func store(_ part: [UInt8]?) -> Range<Int>? {
            guard let part else { return nil }
            bytes += part
            return bytes.count - part.count..<bytes.count
        }
        let key = store(record.key)
        let value = store(record.value)
        let names = record.headers.map { store(Array($0.name.utf8)) }
        let values = record.headers.map { store($0.value) }
        return bytes.withUnsafeBytes { bytes in
            func view(_ range: Range<Int>?) -> UnsafeRawBufferPointer? {
                range.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) }
            }
            let none = UnsafeRawBufferPointer(start: nil, count: 0)
            let headers = zip(names, values).map { EventHeader(name: view($0) ?? none, value: view($1)) }
            let event = EventRecord(
                partition: 0, offset: record.offset, timestamp: record.timestamp, key: view(key), value: view(value),
                headers: 0..<headers.count)
            switch extractor.extract(event, headers: headers[...]) {
            case .published(let broadcast):
                return renderer.begin(broadcast, from: event, of: topic, headers: headers).map { .failed($0) }
                    ?? .published(broadcast)
            // A record with a value cancels nothing.
            case .cancelled: return .failed(.cancelledNothing)
            case .deadLetter(let letter): return .failed(letter)
            }
        }
    }
}
