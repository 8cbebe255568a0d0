import Foundation
import Telemetry

/// The result of a command: the members of its JSON document, and the rows of a text for a person.
protocol Report: Encodable {
    /// How a property's name becomes a member's.
    static var keys: JSONEncoder.KeyEncodingStrategy { get }
    var rows: [Row] { get }
}

/// A part of a report's text. A line, and each name, value and cell, stays one line, whatever its text.
enum Row {
    case line(String)
    /// A name and a value. The values of pairs that follow each other are aligned.
    case pair(String, String)
    case table(TextTable)
}

extension Report {
    static var keys: JSONEncoder.KeyEncodingStrategy { .convertToSnakeCase }

    func json() throws -> String { try JSONOutput.text(self, keys: Self.keys) }

    var text: String {
        var text = ""
        var pairs: [(name: String, value: String)] = []
        func endPairs() {
            let width = (pairs.map(\.name.count).max() ?? 0) + 2
            for (name, value) in pairs {
                text += name + String(repeating: " ", count: width - name.count) + value + "\n"
            }
            pairs = []
        }
        for row in rows {
            switch row {
            case .pair(let name, let value):
                pairs.append((name.inOneLine, value.inOneLine))
            case .line(let line):
                endPairs()
                text += line.inOneLine + "\n"
            case .table(let table):
                endPairs()
                text += table.text
            }
        }
        endPairs()
        return text
    }
}

/// An element of a list: an object in JSON, and a row of a table for a person.
protocol TableRow: Encodable {
    static var keys: JSONEncoder.KeyEncodingStrategy { get }
    static var heading: [String] { get }
    var cells: [String] { get }
}

extension TableRow {
    static var keys: JSONEncoder.KeyEncodingStrategy { .convertToSnakeCase }
}

extension Array: Report where Element: TableRow {
    static var keys: JSONEncoder.KeyEncodingStrategy { Element.keys }

    var rows: [Row] {
        var table = TextTable(Element.heading)
        for row in self { table.append(row.cells) }
        return [.table(table)]
    }
}

enum Output {
    /// Prints one JSON document, or a text.
    static func print(_ report: some Report, json: Bool) throws {
        Terminal.write(json ? try report.json() : report.text)
    }

    /// Prints JSON lines, or a table and what stands below it.
    static func print(lines: [some TableRow], json: Bool, footer: String) throws {
        Terminal.write(json ? try lines.map { try JSONOutput.text($0) }.joined() : lines.text + footer + "\n")
    }
}
