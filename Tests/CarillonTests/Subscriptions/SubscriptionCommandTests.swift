import Foundation
import Testing

@testable import KafkaClient

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
