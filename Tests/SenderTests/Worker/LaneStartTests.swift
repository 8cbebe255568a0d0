import KafkaClient
import Notifications
import Pipeline
import Testing

@testable import Sender

@Suite("Where a lane begins")
struct LaneStartTests {
    private static func commit(_ metadata: String) -> CommittedOffset {
        CommittedOffset(offset: Offset(7), metadata: metadata)
    }

    private func start(_ committed: CommittedOffset?) throws(PipelineError) -> LaneStart {
        try LaneStart([committed, nil], of: 1, partitions: 3, provider: .fcm)
    }

    @Test("A partition with a commit continues there; without one a person says where")
    func continues() throws {
        let offset = LaneOffset(offset: 7, partitions: 3, finished: [5])
        let start = try start(Self.commit(offset.metadata))
        #expect(start.committed == [offset, nil] && !start.isFirst)
        #expect(try self.start(nil).isFirst)
    }

    @Test(
        "Other partitions, and metadata of others or of an earlier version, stop, and say what to do",
        arguments: [
            (LaneOffset(offset: 7, partitions: 4).metadata, "the topic had 4 partitions"),
            ("", "metadata that no 'carillon deliver' wrote; remove the group's offsets"),
            ("v1 n=3 c=1", "an earlier version of Carillon; let that version send what is left"),
        ])
    func stops(metadata: String, words: String) {
        let error = #expect(throws: PipelineError.self) { try start(Self.commit(metadata)) }
        guard case .decisionNeeded(let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.hasPrefix("fcm, partition 1: ") && text.contains(words) && text.contains("--from"))
    }
}
