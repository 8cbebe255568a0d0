/// What the headers of a dead letter say about it. Its own headers are the last ones, from `x-error-code` on, after
/// those of the original record (ADR 10). A record that failed more than once has one group for each failure; the last
/// counts.
package struct DeadLetterReason: Equatable, Sendable {
    /// A label of ``DeadLetter/Code``, or one that this version does not know.
    package var code: String
    /// One sentence for a person.
    package var message: String
    /// The topic of the record; `schedule` for a timer.
    package var topic: String
    package var coordinates: Coordinates
    /// The number of headers of the original record.
    package var originalHeaders: Int
    /// The dead letter holds only a part of the record's value, headers or key.
    package var isTruncated: Bool

    /// - Returns: nil for a record that no Carillon pipeline wrote.
    package init?(_ headers: some RandomAccessCollection<EventHeader>) {
        func isNamed(_ header: EventHeader, _ name: String) -> Bool { header.name.elementsEqual(name.utf8) }
        guard let first = headers.lastIndex(where: { isNamed($0, "x-error-code") }) else { return nil }
        let own = headers[first...]
        func text(_ name: String) -> String? {
            own.first { isNamed($0, name) }?.value.map { String(decoding: $0, as: UTF8.self) }
        }
        guard text("__connect.errors.connector.name") == "carillon", let code = text("x-error-code"),
            let topic = text("__connect.errors.topic"),
            let partition = text("__connect.errors.partition").flatMap({ Int32($0) }),
            let offset = text("__connect.errors.offset").flatMap({ Int64($0) })
        else { return nil }
        self.code = code
        self.topic = topic
        message = text("__connect.errors.exception.message") ?? ""
        coordinates = Coordinates(partition: partition, offset: offset)
        originalHeaders = headers.distance(from: headers.startIndex, to: first)
        isTruncated = own.contains { $0.name.starts(with: "x-truncated".utf8) }
    }

    /// The original event or request.
    ///
    /// - Returns: nil if the pipeline reads no such topic now: a timer, for example.
    func original(_ topics: PipelineConfiguration.Topics) -> EventCoordinates? {
        topics.source(of: topic).map {
            EventCoordinates(SourcePartition($0, coordinates.partition), offset: coordinates.offset)
        }
    }
}
