import Foundation
import Testing

@testable import Replay

@Suite("The lookup data of a replay")
struct ScratchTests {
    /// Files of SQLite that this process has open and that have no name any more.
    private func unnamed() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }.filter { $0.contains("/etilqs_") && $0.hasSuffix(" (deleted)") }
    }

    @Test("it is in a file without a name, and all of it is read back")
    func unnamedFile() throws {
        let scratch = try Scratch()
        try scratch.run("PRAGMA cache_size = 10")
        try scratch.run("CREATE TABLE lines (number PRIMARY KEY, text) WITHOUT ROWID")
        let insert = try Statement(scratch, "INSERT INTO lines VALUES (?, ?)")
        let text = String(repeating: "x", count: 500)
        for number in 0..<2_000 { try insert.run(number, "\(number) \(text)") }
        #expect(try !unnamed().isEmpty)
        let select = try Statement(scratch, "SELECT text FROM lines WHERE number >= ? ORDER BY number")
        try select.bind(1_000)
        var next = 1_000
        while let row = try select.next() {
            #expect(row.text(0) == "\(next) \(text)")
            next += 1
        }
        #expect(next == 2_000)
    }

    @Test("values come back as they were: null, empty and every byte")
    func values() throws {
        let scratch = try Scratch()
        try scratch.run("CREATE TABLE things (a, b, c, d)")
        try Statement(scratch, "INSERT INTO things VALUES (?, ?, ?, ?)")
            .run(Int64.min, [UInt8]?.none, [UInt8](), Array(UInt8.min...UInt8.max))
        let select = try Statement(scratch, "SELECT * FROM things")
        try select.bind()
        let row = try #require(try select.next())
        #expect(row.number(0) == .min && row.isNull(1) && row.optionalNumber(1) == nil)
        #expect(!row.isNull(2) && row.bytes(2).isEmpty && row.bytes(3).elementsEqual(UInt8.min...UInt8.max))
        #expect(try select.next() == nil)
    }

    @Test("texts are unpacked as they were packed")
    func packing() {
        let texts: [[UInt8]?] = [[], nil, [1, 2, 3], Array("ü".utf8)]
        #expect(PackedTexts.pack(texts).withUnsafeBytes { PackedTexts.unpack($0) } == texts)
    }

    @Test("an error has SQLite's reason")
    func error() throws {
        let scratch = try Scratch()
        let error = #expect(throws: ScratchError.self) { try Statement(scratch, "SELECT 1 FROM absent") }
        #expect(error?.description == "the temporary data in TMPDIR cannot be used: no such table: absent")
    }
}
