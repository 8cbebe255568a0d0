import Foundation
import Synchronization
import Testing

@testable import Telemetry

@Suite struct TerminalColorTests {
    @Test("there are colours on a terminal alone, and not with NO_COLOR or a dumb one")
    func terminals() throws {
        var (owner, terminal): (Int32, Int32) = (-1, -1)
        try #require(openpty(&owner, &terminal, nil, nil, nil) == 0)
        defer {
            close(owner)
            close(terminal)
        }
        #expect(TerminalColor.suits(terminal, environment: ["TERM": "xterm"]))
        #expect(TerminalColor.suits(terminal, environment: ["TERM": "xterm", "NO_COLOR": ""]))
        #expect(!TerminalColor.suits(terminal, environment: ["TERM": "xterm", "NO_COLOR": "1"]))
        #expect(!TerminalColor.suits(terminal, environment: ["TERM": "dumb"]))
        let file = try #require(FileHandle(forWritingAtPath: "/dev/null"))
        #expect(!TerminalColor.suits(file.fileDescriptor, environment: ["TERM": "xterm"]))
    }

    private static func lines(_ format: LogStream.Format, hasColors: Bool) -> [String] {
        let written = Mutex<[UInt8]>([])
        let stream = LogStream(format: format, hasColors: hasColors) { line in written.withLock { $0 += line } }
        let logger = Logger(label: "carillon", sink: stream)
        logger.info("one")
        logger.warning("two")
        logger.error("three")
        return written.withLock { String(decoding: $0, as: UTF8.self) }.split(separator: "\n").map(String.init)
    }

    @Test("the level of a line is yellow for a warning, red for an error, and else as it was; columns stay aligned")
    func levels() {
        let tails = Self.lines(.text, hasColors: true).map { $0.dropFirst(13) }
        #expect(
            tails == [
                "info     carillon: one", "\u{1B}[33mwarning\u{1B}[0m  carillon: two",
                "\u{1B}[31merror\u{1B}[0m    carillon: three",
            ])
    }

    @Test("JSON lines and text without colours have no escapes")
    func plain() {
        for line in Self.lines(.json, hasColors: true) + Self.lines(.text, hasColors: false) {
            #expect(!line.contains("\u{1B}"))
            #expect(!line.contains("[33m"))
        }
    }
}
