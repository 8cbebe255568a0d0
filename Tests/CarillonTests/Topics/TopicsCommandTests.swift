import Foundation
import TestSupport
import Testing

@Suite(.enabled(if: BrokerTrial.isThere, "needs a broker: set KAFKA_BOOTSTRAP_SERVERS"))
struct TopicsCommandTests {
    private let trial = BrokerTrial()

    @Test("topics are planned, created, and then as they should be; a difference ends with 1")
    func topics() throws {
        #expect(try trial.carillon("topics", "check").status == 1)
        let planned = try trial.carillon("topics", "create", "--dry-run", "--partitions", "2")
        #expect(planned.status == 0, "\(planned.errors)")
        #expect(planned.output.contains("would be created"))
        #expect(try trial.carillon("topics", "check").errors.contains("5 differences"))

        let created = try trial.carillon("topics", "create", "--partitions", "2")
        #expect(created.status == 0, "\(created.errors)")
        let checked = try trial.carillon("topics", "check", "--partitions", "2")
        #expect(checked.status == 0, "\(checked.output)")
        let other = try trial.carillon("topics", "check", "--partitions", "3")
        #expect(other.status == 1)
        #expect(other.output.contains("\(trial.events): partitions is 2, not 3\n"))
        #expect(try trial.carillon("topics", "create").output.contains("exists"))
    }

    @Test(
        "--small creates one partition for each topic and says what that costs later; copies are what the cluster can do"
    )
    func small() throws {
        let created = try trial.carillon("topics", "create", "--small")
        #expect(created.status == 0, "\(created.errors)")
        let words = created.output.split(separator: "\n").map { $0.split(separator: " ").prefix(4).map(String.init) }
        for name in ["events", "subscriptions", "dispatch", "dead-letters", "journal"] {
            #expect(words.contains(["\(trial.unique).\(name)", "1", "1", "created"]), "\(created.output)")
        }
        #expect(created.output.contains("One partition each: one worker does all the work"))
        #expect(created.output.contains("docs/topics.md, More partitions"))
        #expect(created.errors.contains("as many copies of each record as the cluster has brokers: 1 instead of 3."))
        let again = try trial.carillon("topics", "create", "--small")
        #expect(again.status == 0 && !again.output.contains("One partition each") && again.errors.isEmpty)
    }

    @Test("a replication factor that is asked for is obeyed, or refused where the cluster has too few brokers")
    func copies() throws {
        let refused = try trial.carillon("topics", "create", "--replication-factor", "2")
        #expect(refused.status != 0)
        #expect(refused.output.contains("failed") && !refused.errors.contains("as many copies"))
        #expect(try trial.carillon("topics", "create", "--replication-factor", "1").errors.isEmpty)
    }

    @Test("with credentials the topics of delivery are created, too: with as many partitions as the dispatch topic")
    func delivery() throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let list = #"[{"name":"shop","provider":"fcm","service_account":"shop.json"}]"#
        try Data(list.utf8).write(to: URL(fileURLWithPath: "\(folder.path)/list.json"))
        let credentials = ["--set", "delivery.credentials=@\(folder.path)/list.json"]
        func topics(_ words: String...) throws -> CommandProcess {
            try trial.carillon(words: ["topics"] + words + credentials)
        }
        #expect(try trial.carillon("topics", "create", "--partitions", "2").status == 0)
        #expect(try topics("check").errors.contains("4 differences"))
        // The number that is asked for is not that of the dispatch topic, which there is.
        let created = try topics("create", "--partitions", "3")
        #expect(created.status == 0, "\(created.errors)")
        let words = created.output.split(separator: "\n").map { $0.split(separator: " ").prefix(4).map(String.init) }
        for name in ["deliveries", "dispatch.retry.10s", "dispatch.retry.1m", "dispatch.retry.15m"] {
            #expect(words.contains(["\(trial.unique).\(name)", "2", "1", "created"]), "\(created.output)")
        }
        let checked = try topics("check", "--partitions", "2")
        #expect(checked.status == 0, "\(checked.output)")
    }

    @Test(
        "with topic.broadcasts those of broadcasts are created, too: one partition, and as many as the dispatch topic")
    func broadcasts() throws {
        let setting = ["--set", "topic.broadcasts=\(trial.unique).broadcasts"]
        #expect(try trial.carillon("topics", "create", "--partitions", "2").status == 0)
        #expect(try trial.carillon(words: ["topics", "check"] + setting).errors.contains("3 differences"))
        let created = try trial.carillon(words: ["topics", "create", "--partitions", "4"] + setting)
        #expect(created.status == 0, "\(created.errors)")
        let words = created.output.split(separator: "\n").map { $0.split(separator: " ").prefix(4).map(String.init) }
        for (name, partitions) in [("broadcasts", "1"), ("broadcasts.journal", "3"), ("dispatch.broadcasts", "2")] {
            #expect(words.contains(["\(trial.unique).\(name)", partitions, "1", "created"]), "\(created.output)")
        }
        let checked = try trial.carillon(words: ["topics", "check", "--partitions", "2"] + setting)
        #expect(checked.status == 0, "\(checked.output)")
    }
}
