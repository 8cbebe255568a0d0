import CRDKafka
import Glibc

/// The settings that the linked librdkafka knows, from its own table.
enum LibrarySettings {
    enum Scope: Sendable {
        case consumer, producer, both

        func includes(_ other: Scope) -> Bool { self == .both || other == .both || self == other }
    }

    /// Every setting, global and topic, by name.
    static let scopes: [String: Scope] = parse(table())

    /// librdkafka can only print its table to a stream; 200 rows.
    static func table() -> String {
        var text: UnsafeMutablePointer<CChar>?
        var count = 0
        guard let stream = open_memstream(&text, &count) else { return "" }
        rd_kafka_conf_properties_show(stream)
        fclose(stream)
        defer { free(text) }
        return text.map { String(cString: $0) } ?? ""
    }

    /// Rows are `name | C/P | range | …`, in two tables.
    static func parse(_ table: String) -> [String: Scope] {
        var scopes: [String: Scope] = [:]
        for line in table.split(separator: "\n") {
            let cells = line.split(separator: "|", maxSplits: 2, omittingEmptySubsequences: false)
            guard cells.count == 3 else { continue }
            let name = String(cells[0].filter { $0 != " " })
            switch cells[1].filter({ $0 != " " }) {
            case "*": scopes[name] = .both
            case "C": scopes[name] = scopes[name] == .producer ? .both : .consumer
            case "P": scopes[name] = scopes[name] == .consumer ? .both : .producer
            default: continue
            }
        }
        return scopes
    }
}
