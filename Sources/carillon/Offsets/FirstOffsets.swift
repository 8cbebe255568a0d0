import Broadcasts
import KafkaClient
import Pipeline
import Sender

/// The offsets of the groups of broadcasts and of the sender where they have never committed; what is committed there stays.
struct FirstOffsets {
    /// By group.
    private let commits: [String: [TopicPartition: CommittedOffset]]

    var isEmpty: Bool { commits.isEmpty }

    init(commits: [String: [TopicPartition: CommittedOffset]]) {
        self.commits = commits
    }

    init(
        of roles: [RoleName], _ configuration: PipelineConfiguration, at position: PipelineConfiguration.StartPosition?,
        now: WallTime
    ) throws {
        guard let position else {
            self.init(commits: [:])
            return
        }
        let logger = configuration.makeLogger()
        var commits: [String: [TopicPartition: CommittedOffset]] = [:]
        for role in roles {
            switch role {
            case .pipeline, .registrar, .api: continue
            case .broadcasts:
                commits.merge(
                    try BroadcastService.firstOffsets(of: configuration, at: position, now: now, logger: logger)
                ) { $1 }
            case .deliver:
                commits.merge(try SenderService.firstOffsets(of: configuration, at: position, logger: logger)) { $1 }
            }
        }
        self.init(commits: commits)
    }

    /// The plan for a person; empty where nothing begins.
    var text: String {
        guard !isEmpty else { return "" }
        var table = TextTable(["GROUP", "TOPIC", "PARTITIONS", "BEGIN AT"])
        for (group, offsets) in commits.sorted(by: { $0.key < $1.key }) {
            for (topic, partitions) in Dictionary(grouping: offsets, by: \.key.topic).sorted(by: { $0.key < $1.key }) {
                let offsets = partitions.map(\.value.offset)
                let (first, last) = (offsets.min() ?? Offset(0), offsets.max() ?? Offset(0))
                table.append([group, topic, "\(offsets.count)", first == last ? "\(first)" : "\(first) to \(last)"])
            }
        }
        return "First offsets, of groups that have never committed there:\n\(table.text)\n"
    }

    /// Commits them group by group; a group that has a member is waited for, and refused while it is alive.
    func commit(_ configuration: PipelineConfiguration) throws {
        for (group, offsets) in commits.sorted(by: { $0.key < $1.key }) {
            let consumer = try Consumer(
                assigning: configuration.kafka, group: group, logger: configuration.clientSink)
            try consumer.commit(offsets, for: group, configuration)
            Terminal.write("Committed for group \(group).\n")
        }
    }
}
