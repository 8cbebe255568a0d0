import Foundation
import Notifications
import Pipeline
import Telemetry
import Testing

@testable import Arguments
@testable import KafkaClient
@testable import carillon

@Suite struct SharedTests {
    @Test("progress shows the count, the fraction, the rate and the time left")
    func progress() {
        let start = ContinuousClock.now
        let line = ProgressLine(unit: "subscriptions", now: start)
        #expect(
            line.text(12_000, fraction: 0.25, now: start + .seconds(2))
                == "12,000 subscriptions (25%), 6,000/s, 6s left")
        #expect(line.text(5, fraction: nil, now: start + .seconds(200)) == "5 subscriptions, <0.1/s")
        #expect(line.text(5, fraction: 1, now: start + .seconds(1)) == "5 subscriptions (100%), 5.0/s")
        #expect(ProgressLine.time(59.2) == "1m00s")
        #expect(ProgressLine.time(7_500) == "2h05m")
        #expect(ProgressLine.grouped(1_234_567) == "1,234,567")
    }

    @Test("progress has no rate and no time left within the first second, which would say nothing")
    func firstSecond() {
        let start = ContinuousClock.now
        let line = ProgressLine(unit: "subscriptions", now: start)
        #expect(line.text(4, fraction: 0.5, now: start + .microseconds(1)) == "4 subscriptions (50%)")
        #expect(line.text(4, fraction: 0.5, now: start + .milliseconds(999)) == "4 subscriptions (50%)")
    }

    @Test("in a complaint only who complains is coloured, in each of its lines")
    func colors() {
        #expect(
            Terminal.painted("carillon run: --x: no\nSee 'carillon run --help'.\ncarillon: a: b\n", .red)
                == "\u{1B}[31mcarillon run:\u{1B}[0m --x: no\nSee 'carillon run --help'.\n\u{1B}[31mcarillon:\u{1B}[0m a: b\n"
        )
        #expect(Terminal.painted("nothing of ours: x", .yellow) == "nothing of ours: x")
    }

    private struct Document: Encodable {
        struct Count: Encodable { var putBack: Int }

        var tokenSHA256 = "9f"
        var messageID: String? = "m/1"
        var none: String?
        var byType = ["ORDER_CREATED": Count(putBack: 1), "orderID": Count(putBack: 2)]
        var devicesByHour = ["2026-11-21T10": 3, "lastSeenAt": 4]
    }

    @Test("members of JSON are in snake case and in their order, keys of dictionaries stay as they are")
    func json() throws {
        #expect(
            try JSONOutput.text(Document()) == """
                {"by_type":{"ORDER_CREATED":{"put_back":1},"orderID":{"put_back":2}},\
                "devices_by_hour":{"2026-11-21T10":3,"lastSeenAt":4},"message_id":"m/1","token_sha256":"9f"}

                """)
        #expect(try JSONOutput.text(Document.Count(putBack: 1), keys: .useDefaultKeys) == "{\"putBack\":1}\n")
    }

    private struct Sample: Report {
        var id = "a"
        var rows: [Row] {
            [.pair("id", id), .pair("number", "1"), .line("then"), .pair("id", id), .table(TextTable(["A", "B"]))]
        }
    }

    @Test("a report's pairs are aligned with those beside them, and its JSON is of the same value")
    func report() throws {
        #expect(Sample().text == "id      a\nnumber  1\nthen\nid  a\nA  B\n")
        #expect(try Sample().json() == "{\"id\":\"a\"}\n")
    }

    private struct Hostile: Report {
        var value = "a\u{1B}[2J\nforged  row\u{9B}\u{202E}\u{2028}"
        var rows: [Row] {
            var table = TextTable(["A", "B"])
            table.append([value, "x"])
            return [.line(value), .pair(value, value), .table(table)]
        }
    }

    @Test("a text of a record stays within its line and its cell, and in JSON it is exact and escaped")
    func hostile() throws {
        let lines = Hostile().text.split(separator: "\n")
        try #require(lines.count == 4)
        #expect(lines[0] == #"a\u{1b}[2J\u{a}forged  row\u{9b}\u{202e}\u{2028}"#)
        #expect(lines[1] == lines[0] + "  " + lines[0] && lines[3] == lines[0] + "  x")
        #expect(lines[2].count == lines[0].count + 3, "columns are as wide as what is shown")
        #expect(
            try Hostile().json() == #"{"value":"a\u001b[2J\nforged  row\u009b\u202e\u2028"}"# + "\n")
    }

    @Test("columns are aligned, the last one is not padded")
    func table() {
        var table = TextTable(["A", "LONG"])
        table.append(["value", "x"])
        #expect(table.text == "A      LONG\nvalue  x\n")
    }

    @Test("errors end with the exit code of the table")
    func exitCodes() {
        func code(_ error: any Error) -> ExitCode { CommandFailure(error).code }
        #expect(code(PipelineError.instanceInUse("x")) == .inUse)
        #expect(code(PipelineError.defect("x")) == .defect)
        #expect(code(PipelineError.unplaceableRecord("x")) == .defect)
        #expect(code(PipelineError.notDrained("x")) == .notInTime)
        #expect(code(PipelineError.notAuthorized("x")) == .notPermitted)
        #expect(code(PipelineError.decisionNeeded("x")) == .configuration)
        #expect(code(CommandFailure(.difference, "x")) == .difference)
        func problems(_ areOfFlags: Bool...) -> ExitCode {
            code(
                ConfigurationProblems(
                    problems: areOfFlags.map { ConfigurationProblem(subject: "s", message: "m", isOfFlag: $0) }))
        }
        #expect(problems(false, false) == .configuration)
        #expect(problems(true) == .usage && problems(false, true) == .usage, "what was typed is looked at first")
        func kafka(_ kind: KafkaError.Kind, _ recovery: KafkaError.Recovery) -> ExitCode {
            code(KafkaError(kind: kind, recovery: recovery, name: "", message: ""))
        }
        #expect(kafka(.other, .retry) == .notInTime, "a leader that is just being elected is no defect")
        #expect(kafka(.other, .recreateClient) == .defect)
        #expect(kafka(.authentication, .giveUp) == .notPermitted)
        #expect(ExitCode.allCases.map(\.rawValue) == [0, 1, 2, 3, 64, 70, 75, 77, 78])
    }

    @Test("every command has examples, and each of them is a valid command line")
    func examples() {
        func walk(_ command: any ParsableCommand.Type) {
            let examples = command.configuration.examples
            #expect(!examples.isEmpty, "\(command) has no example")
            for example in examples {
                let line =
                    example.command.split(separator: "|").map(String.init).last { $0.contains("carillon ") } ?? ""
                let words = line.split(separator: " ").map(String.init)
                guard words.first == "carillon" else { continue }
                let arguments = words.dropFirst().prefix { !["<", ">"].contains($0) }
                if case .usage(let problems) = CommandParser(Carillon.self).parse(Array(arguments)) {
                    Issue.record("\(example.command): \(problems)")
                }
            }
            for next in command.configuration.subcommands { walk(next) }
        }
        walk(Carillon.self)
    }
}
