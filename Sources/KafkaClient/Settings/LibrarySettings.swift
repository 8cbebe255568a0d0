import CRDKafka
import Glibc

/// The settings that the linked librdkafka knows, from its own table.
enum LibrarySettings {
    /// The clients that a setting is for.
    struct Scope: OptionSet, Sendable {
        let rawValue: UInt8
        static let consumer = Scope(rawValue: 1)
        static let producer = Scope(rawValue: 2)
        static let both: Scope = [.consumer, .producer]
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
            case "*": scopes[name, default: []].formUnion(.both)
            case "C": scopes[name, default: []].formUnion(.consumer)
            case "P": scopes[name, default: []].formUnion(.producer)
            default: continue
            }
        }
        return scopes
    }
}
