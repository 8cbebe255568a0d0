import Foundation
import KafkaClient

/// The batches that a person has decided to pass without reading them (`carillon offsets pass`), in a file of the state
/// folder. It is only ever appended to: a table that is read from its topic's beginning meets them again.
package struct PassedBatches: Equatable, Sendable {
    private(set) var ranges: [TopicPartition: [ClosedRange<Int64>]] = [:]

    init() {}

    private init(_ text: String) {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count == 4, let partition = Int32(words[1]), let first = Int64(words[2]),
                let last = Int64(words[3]), first <= last
            else { continue }
            ranges[TopicPartition(topic: String(words[0]), partition: partition), default: []].append(first...last)
        }
    }

    private static func path(in folder: String) -> String { folder + "/passed" }

    init(in folder: String) {
        self.init((try? String(contentsOfFile: Self.path(in: folder), encoding: .utf8)) ?? "")
    }

    /// Adds a batch to the file; a running process reads it when it is started again.
    ///
    /// - Throws: ``PipelineError/decisionNeeded(_:)`` where it cannot be written.
    package static func add(
        _ partition: TopicPartition, _ offsets: ClosedRange<Int64>, in folder: String
    ) throws(PipelineError) {
        // Readable for the process, too, where root adds it: the folder is closed to others.
        let descriptor = open(path(in: folder), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0o644)
        var line =
            "\(partition.topic) \(partition.partition) \(offsets.lowerBound) \(offsets.upperBound)\n"
        let count = line.utf8.count
        let written = descriptor < 0 ? -1 : line.withUTF8 { write(descriptor, $0.baseAddress, $0.count) }
        let reason = written == count ? nil : String(cString: strerror(errno))
        if descriptor >= 0 { close(descriptor) }
        if let reason {
            throw .decisionNeeded("state.dir: cannot write in \(folder): \(reason)")
        }
    }

    /// The batch that begins here.
    func range(at position: RecordPosition) -> ClosedRange<Int64>? {
        ranges[position.partition]?.last { $0.lowerBound == position.offset }
    }

    /// Whether a batch begins at or after an offset.
    func isAhead(in partition: TopicPartition, of offset: Int64) -> Bool {
        ranges[partition]?.contains { $0.lowerBound >= offset } ?? false
    }
}
