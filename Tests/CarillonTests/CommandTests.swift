import Foundation
import Testing

@testable import KafkaClient
@testable import carillon

/// What needs no real broker.
@Suite struct CommandTests {
    @Test("check-config shows values and sources, never a secret, and ends with 78 with a line for each problem")
    func checkConfig() throws {
        let secret = "hunter2-do-not-show"
        let file = FileManager.default.temporaryDirectory.path + "/carillon-\(UUID().uuidString).properties"
        try Data("workers=3\nkafka.sasl.password=\(secret)\nkafka.sasl.pasword=\(secret)\n".utf8)
            .write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        let environment = ["CARILLON_COMMIT_INTERVAL": "20ms", "CARILLON_PORT": "80", "KAFKA_SSL_KEY_PASSWORD": secret]
        for json in [[], ["--json"]] {
            let arguments = ["check-config", "--config", file, "--group", "g", "--set", "log.level=loud"] + json
            let result = try CommandProcess.run(arguments, environment: environment)
            #expect(result.status == 78)
            #expect(!(result.output + result.errors).contains(secret))
            let lines = result.errors.split(separator: "\n")
            #expect(lines.count == 3, "\(result.errors)")
            #expect(result.errors.contains("unknown setting 'kafka.sasl.pasword'; did you mean kafka.sasl.password?"))
            #expect(result.errors.contains("--set (log.level): 'loud' is not allowed"))
            if json.isEmpty {
                let words = result.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
                #expect(words.contains(["workers", "3", "\(file):1"]))
                #expect(words.contains(["commit.interval", "20ms", "$CARILLON_COMMIT_INTERVAL"]))
                #expect(words.contains(["group.id", "g", "--group"]))
                #expect(words.contains(["kafka.sasl.password", "<redacted>", "\(file):2"]))
                #expect(result.output.contains("Ignored environment variables: CARILLON_PORT"))
            } else {
                let object = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
                #expect((object?["problems"] as? [String])?.count == 3)
            }
        }
        let fine = try CommandProcess.run(["check-config", "-b", "localhost:9092"], environment: ["HOME": "/home/x"])
        #expect(fine.status == 0)
        #expect(fine.errors.isEmpty)
    }

    @Test("an HTTP address that is invalid, or not of this machine, ends run with 78 and is named")
    func httpAddress() throws {
        let wrong = try CommandProcess.run(["run", "-b", "127.0.0.1:1", "--http", "9464"])
        #expect(wrong.status == 78)
        #expect(wrong.errors.contains("--http: '9464' is not allowed"))
        #expect(wrong.errors.contains("host:port, such as 127.0.0.1:9464"))
        let strange = try CommandProcess.run(
            ["run", "-b", "127.0.0.1:1"], environment: ["CARILLON_HTTP": "203.0.113.7:9464"])
        #expect(strange.status == 78)
        #expect(strange.errors.contains("cannot serve HTTP at 203.0.113.7:9464"))
    }

    @Test("usage problems end with 64, help and version with 0")
    func usage() throws {
        let misspelt = try CommandProcess.run(["chek-config"])
        #expect(misspelt.status == 64)
        #expect(
            misspelt.errors
                == "carillon: chek-config: no such command; did you mean check-config?\nSee 'carillon --help'.\n")
        #expect(try CommandProcess.run([]).status == 0)
        #expect(try CommandProcess.run(["topics", "create", "--help"]).output.contains("--dry-run"))
        #expect(try CommandProcess.run(["--version"]).output.hasPrefix("carillon \(Version.number) (librdkafka "))
    }

    @Test("the completion script of the whole command line is valid", arguments: ["bash", "zsh", "fish"])
    func completion(_ shell: String) throws {
        let script = try CommandProcess.run(["completion", shell])
        #expect(script.status == 0)
        #expect(script.output.contains("subscriptions"))
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/\(shell)") else { return }
        let file = FileManager.default.temporaryDirectory.path + "/completion-\(UUID().uuidString)"
        try Data(script.output.utf8).write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        let process = try Process.run(URL(fileURLWithPath: "/usr/bin/\(shell)"), arguments: ["-n", file])
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

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

    @Test("a missing table is an error for check, and none for wipe")
    func noTable() throws {
        let arguments = ["--state-dir", "/nonexistent/carillon"]
        #expect(try CommandProcess.run(["table", "wipe"] + arguments).status == 0)
        let checked = try CommandProcess.run(["table", "check"] + arguments)
        #expect(checked.status == 1)
        #expect(checked.errors == "carillon: state.dir: there is no table in /nonexistent/carillon\n")
    }
}
