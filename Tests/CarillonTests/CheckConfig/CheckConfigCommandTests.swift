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
}
