import Foundation
import Testing

@Suite struct CheckConfigCommandTests {
    @Test(
        "check-config shows values and sources, never a secret, and ends with 64, for a flag, with a line for each problem"
    )
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
            #expect(result.status == 64)
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

    @Test(
        "check-config warns of what works and leaves something open: a login without TLS, a broker that is not checked, pages for everybody",
        arguments: [
            (
                ["-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=PLAIN"],
                "kafka.security.protocol=SASL_PLAINTEXT: the login"
            ),
            (
                ["-X", "security.protocol=ssl", "-X", "enable.ssl.certificate.verification=false"],
                "kafka.enable.ssl.certificate.verification=false: any server"
            ),
            (
                ["-X", "security.protocol=ssl", "-X", "ssl.endpoint.identification.algorithm=none"],
                "kafka.ssl.endpoint.identification.algorithm=none: any host"
            ),
            (["--set", "http=0.0.0.0:9464"], "http=0.0.0.0:9464: whoever"),
            (["--set", "http=[::]:9464"], "http=[::]:9464: whoever"),
        ])
    func exposed(words: [String], warning: String) throws {
        let result = try CommandProcess.run(
            ["check-config", "-b", "localhost:9092"] + words, environment: ["HOME": "/home/x"])
        #expect(result.status == 0)
        #expect(result.errors.hasPrefix("carillon: warning: " + warning), "\(result.errors)")
        #expect(result.errors.split(separator: "\n").count == 1)
    }

    @Test("it warns of none of it where the login is encrypted and the pages are for this machine")
    func notExposed() throws {
        let words = ["-X", "security.protocol=SASL_SSL", "-X", "sasl.mechanism=PLAIN", "--set", "http=127.0.0.1:9464"]
        let result = try CommandProcess.run(
            ["check-config", "-b", "localhost:9092"] + words, environment: ["HOME": "/home/x"])
        #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
    }
}
