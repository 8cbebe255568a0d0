import JSONReader
import KafkaClient
import Pipeline
import Registrar
import Replay

/// `notifications.devices` and `notifications.people` as the registrar has written them, from their beginnings to their present
/// ends. Memory grows with what is asked for, not with the topics.
struct DeviceLog {
    private let configuration: PipelineConfiguration
    /// How long one reading may take; nil: as long as it takes.
    private let limit: Duration?

    init(_ configuration: PipelineConfiguration, within limit: Duration? = nil) {
        (self.configuration, self.limit) = (configuration, limit)
    }

    func device(_ id: DeviceID) throws -> DeviceState? {
        try newest(of: configuration.topics.devices, key: Array(id.text.utf8), DeviceState.init).first
    }

    func person(_ id: ByteText) throws -> PersonState? {
        try newest(of: configuration.topics.people, key: Array(id.text.utf8), PersonState.init).first
    }

    /// The devices that are wanted, by their ids.
    func devices(where isWanted: (DeviceState) -> Bool) throws -> [DeviceState] {
        try newest(of: configuration.topics.devices, key: nil, DeviceState.init, where: isWanted).sorted {
            $0.id < $1.id
        }
    }

    /// What the newest record of each key says, where it is wanted.
    ///
    /// - Parameter key: the only one that is read; nil: all are.
    /// - Throws: `ReplayStopped` where it takes longer than the limit.
    private func newest<State>(
        of topic: String, key only: [UInt8]?, _ decode: ([UInt8], inout JSONReader) -> State?,
        where isWanted: (State) -> Bool = { _ in true }
    ) throws -> [State] {
        let end = limit.map { ContinuousClock.now + $0 }
        var kafka = try KafkaLog(
            configuration, logger: configuration.clientSink, isStopped: { end.map { .now >= $0 } ?? false },
            patience: .seconds(limit == nil ? 30 : 5))
        var bounds = try kafka.bounds(of: topic)
        let partitions = Int32(bounds.count)
        if let only {
            let home = Murmur2.partition(of: only, count: partitions)
            bounds = bounds.filter { $0.key == home }
        }
        var progress = ProgressLine(unit: "records")
        defer { progress.clear() }
        var found: [[UInt8]: State] = [:]
        var json = JSONReader()
        var unreadable = 0
        try kafka.read(bounds, of: topic) { records, indices in
            for index in indices {
                let record = records[index]
                guard let key = record.key.map({ Array($0) }), only == nil || only == key,
                    // One that lies elsewhere than its key is from before the topic got more partitions.
                    record.partition == Murmur2.partition(of: key, count: partitions)
                else { continue }
                let state = record.value.flatMap { decode(Array($0), &json) }
                if record.value != nil, state == nil { unreadable += 1 }
                found[key] = state.flatMap { isWanted($0) ? $0 : nil }
            }
        } progress: {
            progress.show($0, fraction: $1)
        }
        if unreadable > 0 {
            progress.clear()
            Terminal.warn(
                "skipped \(ProgressLine.counted(unreadable, "record")) of \(topic) that this version cannot read")
        }
        return Array(found.values)
    }
}
