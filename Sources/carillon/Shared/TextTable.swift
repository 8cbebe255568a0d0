import Telemetry

/// Rows under a heading, columns aligned; the last column is not padded. A cell is one line, whatever its text.
struct TextTable {
    private var rows: [[String]]

    init(_ heading: [String]) {
        rows = [heading]
    }

    mutating func append(_ row: [String]) {
        rows.append(row.map(\.inOneLine))
    }

    var text: String {
        let widths = (0..<(rows.map(\.count).max() ?? 0)).map { column in
            rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
        }
        return rows.map { row in
            row.enumerated().map { column, cell in
                column == row.count - 1 ? cell : cell + String(repeating: " ", count: widths[column] - cell.count)
            }.joined(separator: "  ") + "\n"
        }.joined()
    }
}
