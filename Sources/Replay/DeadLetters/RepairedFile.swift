/// Dead letters whose values a person has repaired, as JSON lines in the envelope of ``RecordLine``: each names its
/// dead letter by topic, partition and offset. Key and headers are always the dead letter's own.
package enum RepairedFile {
    /// - Parameter topic: of the dead letters.
    /// - Throws: ``UnfitRepairs`` with every line that names none, and ``FileError``.
    package static func read(_ path: String, topic: String) throws -> [Coordinates: [UInt8]] {
        var lines = try LineReader(path: path)
        var line = RecordLine()
        var repaired: [Coordinates: [UInt8]] = [:]
        var problems: [String] = []
        var number = 0
        while let text = try lines.next() {
            number += 1
            if text.isEmpty { continue }
            line.read(text, bareTopic: "", bareOffset: -1)
            let coordinates = Coordinates(partition: line.partition, offset: line.offset)
            guard line.topic == topic, coordinates.offset >= 0 else {
                problems.append("line \(number) names no record of \(topic) by topic, partition and offset")
                continue
            }
            guard let value = line.value else {
                problems.append("line \(number) has no payload")
                continue
            }
            if repaired.updateValue(Array(value), forKey: coordinates) != nil {
                problems.append("line \(number) names \(coordinates.position(in: topic)) again")
            }
        }
        guard problems.isEmpty else { throw UnfitRepairs(problems: problems) }
        return repaired
    }
}
