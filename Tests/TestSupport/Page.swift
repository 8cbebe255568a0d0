import Foundation

/// A page of this package's documentation, by its path from the package's root.
package struct Page {
    private let url: URL

    package init(_ path: String) {
        var root = URL(filePath: #filePath)
        repeat {
            root.deleteLastPathComponent()
        } while !FileManager.default.fileExists(atPath: root.appending(path: "Package.swift").path)
        url = root.appending(path: path)
    }

    package var path: String { url.path(percentEncoded: false) }

    package func text() throws -> String {
        try String(contentsOf: url, encoding: .utf8)
    }

    package func lines() throws -> [String] {
        try text().split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// The rows of the table with this header: without the header and the line below it; empty if there is no table.
    package func rows(below header: String) throws -> [String] {
        let lines = try lines()
        return Array(lines[Self.rows(below: header, in: lines)])
    }

    /// Writes the page with other rows in that table.
    package func replaceRows(below header: String, by rows: [String]) throws {
        var lines = try lines()
        lines.replaceSubrange(Self.rows(below: header, in: lines), with: rows)
        try lines.joined(separator: "\n").write(to: url, atomically: true, encoding: .utf8)
    }

    private static func rows(below header: String, in lines: [String]) -> Range<Int> {
        guard let first = lines.firstIndex(of: header).map({ $0 + 2 }), first <= lines.count else {
            return lines.endIndex..<lines.endIndex
        }
        return first..<(lines[first...].firstIndex { !$0.hasPrefix("|") } ?? lines.endIndex)
    }
}
