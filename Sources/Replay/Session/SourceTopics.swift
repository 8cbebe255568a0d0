/// The topics of the sources, compared as bytes.
struct SourceTopics {
    private let topics: [(source: SourceKind, name: [UInt8])]

    init(_ topics: PipelineConfiguration.Topics) {
        self.topics = topics.sources.map { ($0, Array(topics.topic(of: $0).utf8)) }
    }

    /// The source that reads a topic; nil if none does.
    func source(of topic: UnsafeRawBufferPointer) -> SourceKind? {
        for known in topics where topic.elementsEqual(known.name) { return known.source }
        return nil
    }
}
