import Foundation
import Testing

@testable import KafkaClient
@testable import Notifications

@Suite struct SubscriptionCommandTests {
    @Test("an invalid token is refused without being shown")
    func badToken() throws {
        let arguments = [
            "subscribe", "--audience", "place/42", "--platform", "fcm", "--app", "com.example", "-b", "localhost:1",
        ]
        let result = try CommandProcess.run(arguments, input: "two secret-words\n", environment: ["HOME": "/home/x"])
        #expect(result.status == 64)
        #expect(!result.errors.contains("secret-words"))
    }

    @Test("a device is subscribed, listed by its hash, and unsubscribed, on the mock cluster")
    func subscribe() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("notifications.subscriptions", partitions: 4)
        let environment = ["KAFKA_BOOTSTRAP_SERVERS": cluster.bootstrapServers, "HOME": "/home/x"]
        let token = "test-token-\(UUID().uuidString)"
        let device = ["--audience", "place/42", "--platform", "fcm", "--app", "com.example.shop"]
        let subscribed = try CommandProcess.run(["subscribe"] + device, input: token + "\n", environment: environment)
        #expect(subscribed.status == 0, "\(subscribed.errors)")
        #expect(subscribed.output.hasPrefix("subscribed place/42|"))

        let listed = try CommandProcess.run(["subscriptions", "list", "--json"], environment: environment)
        #expect(listed.status == 0, "\(listed.errors)")
        #expect(!listed.output.contains(token))
        let row = try JSONSerialization.jsonObject(with: Data(listed.output.utf8)) as? [String: Any]
        let hash = try #require(row?["token_sha256"] as? String)
        #expect(row?["audience"] as? String == "place/42")
        #expect(subscribed.output == "subscribed place/42|\(hash)\n")

        let gone = try CommandProcess.run(
            ["unsubscribe", "--audience", "place/42", "--token-hash", hash], environment: environment)
        #expect(gone.status == 0, "\(gone.errors)")
        let empty = try CommandProcess.run(["subscriptions", "list"], environment: environment)
        #expect(empty.output.hasSuffix("0 subscriptions\n"))
    }

    @Test("--since is written as a header in milliseconds; what is no time is refused")
    func since() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("notifications.subscriptions", partitions: 4)
        let environment = ["KAFKA_BOOTSTRAP_SERVERS": cluster.bootstrapServers, "HOME": "/home/x"]
        let device = ["--audience", "channel/a", "--platform", "fcm", "--app", "com.example.shop"]
        func run(_ arguments: [String], _ input: String) throws -> CommandProcess {
            try CommandProcess.run(arguments, input: input, environment: environment)
        }
        let line = #"{"audience":"channel/a","token":"imported","platform":"fcm","app":"com.example"}"#
        #expect(try run(["subscribe"] + device + ["--since", "2025-07-07T08:02:17Z"], "rotated").status == 0)
        #expect(try run(["subscribe"] + device, "new").status == 0)
        #expect(try run(["subscriptions", "import", "-", "--since", "2025-07-07T08:02:17Z"], line).status == 0)
        var headers: [[RecordHeader]] = []
        try TopicReader.readAll(
            "notifications.subscriptions", settings: ["bootstrap.servers": cluster.bootstrapServers], logger: { _ in },
            take: { record, _ in headers.append(record.headers) })
        let since = RecordHeader("since", Array("1751875337000".utf8))
        #expect(headers.count == 3 && headers.count { $0 == [since] } == 2 && headers.contains([]))
        let refused = try run(["subscribe"] + device + ["--since", "yesterday"], "rotated")
        #expect(refused.status == 64 && refused.errors.contains("--since yesterday is not allowed"))
    }

    @Test("an import reports bad lines by their number, never a token, and ends with 1")
    func importing() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("notifications.subscriptions", partitions: 4)
        let environment = ["KAFKA_BOOTSTRAP_SERVERS": cluster.bootstrapServers, "HOME": "/home/x"]
        let good = (0..<500).map {
            #"{"audience":"place/\#($0 % 7)","token":"test-token-\#($0)","platform":"fcm","app":"com.example"}"#
        }
        let bad = #"{"audience":"nowhere","token":"test-secret-token","platform":"carrier-pigeon"}"#
        let input = (good + [bad, "", "not json"]).joined(separator: "\n")
        let result = try CommandProcess.run(
            ["subscriptions", "import", "-", "--json"], input: input, environment: environment)
        #expect(result.status == 1)
        let summary = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        #expect(summary?["imported"] as? Int == 500)
        #expect(summary?["malformed"] as? Int == 2)
        #expect(result.errors.contains("-:501: "))
        #expect(result.errors.contains("-:503: "))
        #expect(!result.errors.contains("test-secret-token"))
        let listed = try CommandProcess.run(
            ["subscriptions", "list", "--audience", "place/3"], environment: environment)
        #expect(listed.output.hasSuffix("\n71 subscriptions\n"), "\(listed.output.suffix(200))")
    }

    @Test("all problems of a subscription are said at once, the token's and the audience's")
    func allProblems() throws {
        let arguments = [
            "subscribe", "--audience", "42", "--platform", "fcm", "--app", "com.example", "-b", "localhost:1",
        ]
        let result = try CommandProcess.run(arguments, input: "", environment: ["HOME": "/home/x"])
        #expect(result.status == 64)
        #expect(result.errors.contains("standard input: it must hold one token"))
        #expect(result.errors.contains("audience is not "))
        let device = arguments.map { $0 == "42" ? "device/" + String(repeating: "a", count: 64) : $0 }
        let alone = try CommandProcess.run(device, input: "", environment: ["HOME": "/home/x"])
        #expect(!alone.errors.contains("audience"), "\(alone.errors)")
    }

    @Test("the unsubscription of nobody says so, writes nothing, and ends with 1")
    func nobody() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("notifications.subscriptions", partitions: 4)
        let environment = ["KAFKA_BOOTSTRAP_SERVERS": cluster.bootstrapServers, "HOME": "/home/x"]
        let hash = String(repeating: "0", count: 64)
        let result = try CommandProcess.run(
            ["unsubscribe", "--audience", "place/42", "--token-hash", hash], environment: environment)
        #expect(result.status == 1)
        #expect(result.output.isEmpty)
        #expect(result.errors.contains("there is no subscription place/42|\(hash)"))
    }

    /// A topic of four partitions with these subscriptions, each so many partitions behind the one of its key.
    private func cluster(_ devices: [(token: String, wrongBy: Int32)]) throws -> (MockCluster, [String: String]) {
        let cluster = try MockCluster()
        try cluster.createTopic("notifications.subscriptions", partitions: 4)
        var producer = try Producer(settings: ["bootstrap.servers": cluster.bootstrapServers])
        let topic = try producer.topic("notifications.subscriptions")
        for device in devices {
            let subscription = Subscription(audience: "place/42", token: device.token, platform: .fcm, app: "a")
            let key = Array(subscription.key.utf8)
            let partition = (Murmur2.partition(of: key, count: 4) + device.wrongBy) % 4
            try producer.produce(
                ProducerRecord(key: key, value: subscription.encoded(), partition: partition), to: topic)
        }
        try producer.flush(timeout: .seconds(30))
        return (cluster, ["KAFKA_BOOTSTRAP_SERVERS": cluster.bootstrapServers, "HOME": "/home/x"])
    }

    @Test("a misplaced subscription is listed with where it is and where it belongs, beside the one that counts")
    func misplacedIsListed() throws {
        let (cluster, environment) = try cluster([("only-wrong", 1), ("both", 0), ("both", 2), ("right", 0)])
        let listed = try CommandProcess.run(["subscriptions", "list"], environment: environment)
        #expect(listed.output.contains("\n2 subscriptions\n"), "\(listed.output)")
        #expect(listed.output.contains("\n2 misplaced records without effect"), "\(listed.output)")
        let json = try CommandProcess.run(["subscriptions", "list", "--json"], environment: environment)
        let rows = try json.output.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        #expect(rows.count == 4)
        let strays = rows.filter { $0["belongs_in"] != nil }
        for row in strays {
            let hash = try #require(row["token_sha256"] as? String)
            let home = Murmur2.partition(of: Array("place/42|\(hash)".utf8), count: 4)
            let isBoth = hash == SubscriptionKey.tokenHash(of: "both")
            #expect(row["belongs_in"] as? Int == Int(home))
            #expect(row["partition"] as? Int == Int((home + (isBoth ? 2 : 1)) % 4))
            #expect(row["is_subscribed"] as? Bool == isBoth)
        }
        #expect(strays.count == 2)
        withExtendedLifetime(cluster) {}
    }

    @Test("unsubscribing ends a subscription in the partition where it is")
    func misplacedIsUnsubscribed() throws {
        let (cluster, environment) = try cluster([("only-wrong", 1), ("both", 0), ("both", 2)])
        for token in ["only-wrong", "both"] {
            let gone = try CommandProcess.run(
                ["unsubscribe", "--audience", "place/42"], input: token, environment: environment)
            #expect(gone.status == 0, "\(gone.errors)")
            #expect(gone.output.contains("it was misplaced in partition"))
        }
        let listed = try CommandProcess.run(["subscriptions", "list", "--json"], environment: environment)
        #expect(listed.output.isEmpty, "\(listed.output)")
        let again = try CommandProcess.run(
            ["unsubscribe", "--audience", "place/42"], input: "both", environment: environment)
        #expect(again.status == 1)
        withExtendedLifetime(cluster) {}
    }

    @Test(
        "mending shows a plan, asks for the number of its records, and moves each; a second time nothing is misplaced")
    func mend() throws {
        let (cluster, environment) = try cluster([("a", 1), ("b", 2), ("both", 0), ("both", 3)])
        let mend = ["subscriptions", "mend"]
        let plan = try CommandProcess.run(mend + ["--dry-run"], environment: environment)
        #expect(plan.status == 0, "\(plan.errors)")
        #expect(plan.output.contains("3 misplaced records of 3 keys"), "\(plan.output)")
        let refused = try CommandProcess.run(mend + ["--confirm", "2"], environment: environment)
        #expect(refused.status == 78)
        #expect(refused.errors.contains("which is 3; nothing was moved"), "\(refused.errors)")
        let unasked = try CommandProcess.run(mend, environment: environment)
        #expect(unasked.errors.contains("give --confirm 3"), "\(unasked.errors)")
        let done = try CommandProcess.run(mend + ["--confirm", "3"], environment: environment)
        #expect(done.status == 0, "\(done.errors)")
        #expect(done.output.contains("Ended 3 misplaced records"), "\(done.output)")
        let listed = try CommandProcess.run(["subscriptions", "list"], environment: environment)
        #expect(listed.output.hasSuffix("\n3 subscriptions\n"), "\(listed.output)")
        let again = try CommandProcess.run(mend + ["--yes"], environment: environment)
        #expect(again.output == "Nothing is misplaced.\n", "\(again.output)")
        withExtendedLifetime(cluster) {}
    }

    @Test("a record that is no subscription is named by its partition and offset, and one subscription has no plural s")
    func skipped() throws {
        let (cluster, environment) = try cluster([("a", 0)])
        var producer = try Producer(settings: ["bootstrap.servers": cluster.bootstrapServers])
        let topic = try producer.topic("notifications.subscriptions")
        let home = Murmur2.partition(
            of: Subscription(audience: "place/42", token: "a", platform: .fcm, app: "a").key.utf8, count: 4)
        try producer.produce(ProducerRecord(key: Array("wrong".utf8), value: [1], partition: home), to: topic)
        try producer.flush(timeout: .seconds(30))
        let listed = try CommandProcess.run(["subscriptions", "list"], environment: environment)
        #expect(listed.output.hasSuffix("\n1 subscription\n"))
        #expect(
            listed.errors.contains("skipped 1 malformed record: partition \(home) offset 1\n"),
            "\(listed.errors)")
    }

    @Test(
        "a missing topic is reported in one clear line",
        .enabled(if: BrokerTrial.isThere, "needs a broker: set KAFKA_BOOTSTRAP_SERVERS"))
    func missingTopic() throws {
        let trial = BrokerTrial()
        let result = try trial.carillon("subscriptions", "list")
        #expect(result.status == 78)
        #expect(result.errors.split(separator: "\n").count == 1)
        #expect(result.errors.contains("\(trial.unique).subscriptions"))
    }
}
