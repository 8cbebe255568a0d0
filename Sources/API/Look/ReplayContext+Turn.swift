import Replay

extension ReplayContext {
    /// For an answer: it reads no more than one may.
    init(
        _ configuration: PipelineConfiguration, _ turn: TopicReads.Turn, now: WallTime, logger: Logger
    ) throws(ScratchError) {
        self.init(
            configuration: configuration, scratch: try Scratch(), now: now, logger: logger.clientSink,
            isStopped: { turn.isStopped },
            limit: ReadLimit(records: TopicReads.mostRecords, bytes: TopicReads.mostBytes),
            patience: TopicReads.timeout)
    }

    /// What became of a request, as far as a key may hear of it.
    ///
    /// - Returns: nil where the record is no request with this id, or one for somebody whom the key may not reach.
    func fate(
        ofRequest id: String, at record: Coordinates, for key: KeyEntry?
    ) throws -> RequestFate? {
        var log = try KafkaLog(self)
        guard let fate = try log.fate(ofRequest: record, configuration), fate.isOf(id),
            key?.permits(audiences: fate.audiences) ?? true
        else { return nil }
        return fate
    }
}
