import Foundation
import Testing

@testable import carillon

/// What a person gets wrong in the first hour: each has its cause and its cure in one sentence, and the right exit code.
@Suite("Bad input")
struct BadInputTests {
    struct Trial: Sendable, CustomTestStringConvertible {
        var words: String
        var environment: [String: String] = [:]
        var code: Int32
        /// Each is in what is written to standard error.
        var says: [String]

        var testDescription: String { "carillon \(words)" }
    }

    /// Nothing listens there.
    private static let nowhere = "127.0.0.1:1"
    private static let times =
        "earliest, latest, a time such as 2026-11-21T10:00:00Z, a date such as 2026-11-21 (midnight UTC), or so long ago, "
        + "such as -1h"

    private static let trials = [
        Trial(
            words: "run -b \(nowhere) --from yesterday", code: 64,
            says: ["--from: 'yesterday' is not allowed; it must be \(times)"]),
        Trial(words: "run -b \(nowhere) --from 2026-02-30", code: 64, says: ["'2026-02-30' is not allowed"]),
        Trial(words: "deliver -b \(nowhere) --from -1x", code: 64, says: ["--from: '-1x' is not allowed"]),
        Trial(
            words: "run -b \(nowhere) --workers 0", code: 64,
            says: ["--workers: '0' is not allowed; it must be a whole number from 1 to 64"]),
        Trial(words: "broadcasts -b \(nowhere) --workers ten", code: 64, says: ["--workers: 'ten' is not allowed"]),
        Trial(
            words: "run -b \(nowhere) --roles sender", code: 64,
            says: [
                "--roles: 'sender' is not allowed; expected all, or of pipeline, broadcasts, deliver, registrar, api some with commas"
            ]),
        Trial(
            words: "run -b \(nowhere) --roles pipeline,broadcasts,deliver", code: 78,
            says: [
                "--roles broadcasts: topic.broadcasts is not set", "--roles deliver: delivery.credentials is not set",
            ]),
        Trial(
            words: "run --workers 0", code: 64,
            says: ["--workers: '0'", "kafka.bootstrap.servers: no broker is given"]),
        Trial(
            words: "run -b \(nowhere)", environment: ["CARILLON_WORKERS": "0"], code: 78,
            says: ["$CARILLON_WORKERS (workers): '0' is not allowed"]),
        Trial(
            words: "run -b \(nowhere) --from earliest --http 9464", environment: ["CARILLON_GROUP": "foo"], code: 64,
            says: ["carillon: warning: $CARILLON_GROUP is no setting and is ignored; did you mean $CARILLON_GROUP_ID?"]),
        Trial(
            words: "run -b \(nowhere) --from earliest --state-dir /proc/nope", code: 78,
            says: ["cannot make /proc/nope: No such file or directory; set state.dir (--state-dir) to a folder"]),
        Trial(
            words: "deliver -b \(nowhere) --set delivery.credentials=@nope.json", code: 64,
            says: [
                "'@nope.json' cannot be read: \(FileManager.default.currentDirectoryPath)/nope.json: No such file or "
                    + "directory; it must be @FILE"
            ]),
        Trial(
            words: "notify -b \(nowhere) --set topic.requests=r --audience user/1 --app-type NewBil --title T --body B",
            code: 64,
            says: ["--app-type NewBil is no known type; did you mean NewBill? Add a type of your own to app-types"]),
        Trial(
            words: "notify --dry-run --yes --set topic.requests=r --audience user/1 --app-type LoyaltyPoints --title T "
                + "--body B",
            code: 0, says: ["carillon: warning: --app-type LoyaltyPoints is no known type and is sent as it is"]),
        Trial(
            words: "explain -b \(nowhere)", code: 64,
            says: ["nothing to explain: give --order, --request, --message-id"]),
        Trial(
            words: "explain -b \(nowhere) --order 1 --from 2026-11-31", code: 64,
            says: ["--from 2026-11-31 is not allowed"]),
        Trial(
            words: "offsets set -b \(nowhere) --to 7 --roles deliver", code: 64,
            says: ["--roles deliver: of these only --to earliest, --to latest and --to a time can be set"]),
        Trial(
            words: "offsets set -b \(nowhere) --to 2026-13-01", code: 64, says: ["--to 2026-13-01 is not allowed"]),
    ]

    @Test("says what is wrong and what to do, with its exit code", arguments: trials)
    func trial(_ trial: Trial) throws {
        let environment = ["HOME": "/home/x"].merging(trial.environment) { $1 }
        let run = try CommandProcess.run(trial.words.split(separator: " ").map(String.init), environment: environment)
        #expect(run.status == trial.code, "\(run.errors)")
        for words in trial.says { #expect(run.errors.contains(words), "\(run.errors)") }
    }

    @Test("a command without a broker says so after 3 s, goes on trying, and ends with 75")
    func noBroker() throws {
        let run = try CommandProcess.run(
            ["topics", "check", "-b", Self.nowhere], environment: ["HOME": "/home/x"])
        #expect(run.status == 75, "\(run.errors)")
        #expect(run.errors.hasPrefix("carillon: cannot reach \(Self.nowhere) yet: "), "\(run.errors)")
        #expect(run.errors.contains("failed: Connection refused; still trying\n"), "\(run.errors)")
    }
}

/// The same with a broker, from `KAFKA_BOOTSTRAP_SERVERS`.
@Suite("Bad input, with a broker", .enabled(if: BrokerTrial.isThere))
struct BadInputBrokerTests {
    private let trial = BrokerTrial()
    private var requests: String { "\(trial.unique).requests" }

    private func carillon(_ words: String...) throws -> CommandProcess {
        try trial.carillon(words: words + ["--set", "topic.requests=\(requests)"])
    }

    @Test("what is not there is said, with what was searched, and ends with 1, with --json too")
    func nothingFound() throws {
        #expect(try carillon("topics", "create", "--partitions", "1", "--replication-factor", "1").status == 0)
        for json in [[], ["--json"]] {
            let words = ["explain", "--order", "nosuch", "--set", "topic.requests="] + json
            let explained = try trial.carillon(words: words)
            #expect(explained.status == 1 && explained.output.isEmpty, "\(explained.errors)")
            #expect(
                explained.errors.contains("nothing of it is in the whole of \(trial.events) (0 offsets)"),
                "\(explained.errors)")
            let shown = try trial.carillon(words: ["offsets", "show"] + json, group: "nosuch")
            #expect(shown.status == 1, "\(shown.errors)")
            #expect(shown.output.isEmpty == json.isEmpty, "\(shown.output)")
            let sentence = "group nosuch has no committed offsets in \(trial.events)"
            #expect(shown.errors.contains(sentence), "\(shown.errors)")
        }
    }

    @Test("a request and a broadcast that nobody reads are written, with a warning")
    func nobodyReads() throws {
        #expect(try carillon("topics", "create", "--partitions", "1", "--replication-factor", "1").status == 0)
        let asked = try carillon(
            "notify", "--audience", "user/1", "--app-type", "NewBill", "--title", "T", "--body", "B", "--yes")
        #expect(asked.status == 0 && asked.output.contains("request "), "\(asked.errors)")
        let warning = "carillon: warning: nobody reads \(requests): group "
        #expect(asked.errors.contains(warning), "\(asked.errors)")
    }
}
