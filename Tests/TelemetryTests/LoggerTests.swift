import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Telemetry

/// Keeps what was logged.
private final class Memory: Sendable {
    private let stored = Mutex<[UInt8]>([])

    func sink(_ format: LogStream.Format) -> LogStream {
        LogStream(format: format) { line in self.stored.withLock { $0 += line } }
    }

    var lines: [String] {
        String(decoding: stored.withLock { $0 }, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}

@Suite struct LoggerTests {
    private let odd =
        "quote \" backslash \\ newline \n tab \t null \u{0} bell \u{7} escape \u{1B}[31m del \u{7F} "
        + "line separator \u{2028} right-to-left \u{202E} emoji 🔔 ü"

    @Test("a JSON line is one valid JSON object, whatever is logged")
    func json() throws {
        let memory = Memory()
        let logger = Logger(label: odd, metadata: [odd: odd], sink: memory.sink(.json))
        logger.error(odd, ["plain": "value"])
        #expect(memory.lines.count == 1)
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(memory.lines[0].utf8)) as? [String: Any])
        #expect(object["message"] as? String == odd)
        #expect(object["label"] as? String == odd)
        #expect(object["level"] as? String == "error")
        #expect(object["metadata"] as? [String: String] == [odd: odd, "plain": "value"])
        #expect(memory.lines[0].unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F })
    }

    @Test("every scalar of a seeded stream survives a JSON line")
    func jsonSeeded() throws {
        let seed = try RunSeed.value()
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            var text = ""
            for _ in 0..<Int.random(in: 0...20, using: &generator) {
                let value = UInt32.random(in: 0...0x10FFFF, using: &generator)
                if let scalar = Unicode.Scalar(value % 2 == 0 ? value % 0x100 : value) {
                    text.unicodeScalars.append(scalar)
                }
            }
            let memory = Memory()
            Logger(label: "test", sink: memory.sink(.json)).info(text)
            let line = try #require(memory.lines.first, "seed \(seed)")
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            #expect(object?["message"] as? String == text, "seed \(seed)")
        }
    }

    @Test("a text line cannot be forged and cannot reach the terminal")
    func text() {
        let memory = Memory()
        Logger(label: "test", sink: memory.sink(.text)).warning("a\nb\u{1B}[2J", ["key": "x y", "empty": "", "n": "1"])
        #expect(memory.lines.count == 1)
        #expect(memory.lines[0].dropFirst(13) == #"warning  test: a\u{a}b\u{1b}[2J empty="" key="x y" n=1"#)
    }

    @Test("below the level nothing is evaluated")
    func level() {
        let memory = Memory()
        let logger = Logger(label: "test", level: .warning, sink: memory.sink(.text))
        var evaluated = 0
        func message() -> String {
            evaluated += 1
            return "x"
        }
        logger.info(message())
        #expect(evaluated == 0)
        logger.warning(message())
        logger.critical(message())
        #expect(evaluated == 2)
        #expect(memory.lines.count == 2)
    }

    @Test("an entry's metadata wins over the logger's")
    func metadata() throws {
        let memory = Memory()
        Logger(label: "test", metadata: ["a": "1", "b": "2"], sink: memory.sink(.text)).info("x", ["b": "3"])
        #expect(memory.lines.first?.hasSuffix("x a=1 b=3") == true)
    }
}
