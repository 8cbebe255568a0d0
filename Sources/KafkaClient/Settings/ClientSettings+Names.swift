import CRDKafka
import Foundation

extension ClientSettings {
    /// Every setting of the linked librdkafka: each name with the name that is used here.
    ///
    /// Where two names mean one setting (`metadata.broker.list` and `bootstrap.servers`), the newer one is used, which
    /// is also the Java clients'. Read once from librdkafka's own table.
    package static let names: [String: String] = readNames()

    /// Why librdkafka would refuse a value, in its own words; nil if it accepts it. The text may repeat the value.
    package static func problem(_ name: String, _ value: String) -> String? {
        guard let configuration = rd_kafka_conf_new() else { return nil }
        defer { rd_kafka_conf_destroy(configuration) }
        var message = [CChar](repeating: 0, count: 512)
        guard rd_kafka_conf_set(configuration, name, value, &message, message.count) != RD_KAFKA_CONF_OK else {
            return nil
        }
        return String(decoding: message.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// A row is `name | C/P | range | default | importance | text`.
    private static func readNames() -> [String: String] {
        var names: [String: String] = [:]
        for line in LibrarySettings.table().split(separator: "\n") {
            let columns = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard columns.count >= 6, let name = columns.first, LibrarySettings.scopes[name] != nil else { continue }
            // Callbacks and pointers cannot be set as text.
            guard !name.hasSuffix("_cb"), !columns[5].contains("see dedicated API") else { continue }
            if names[name] == nil { names[name] = name }
            let alias = columns[5].split(separator: "`", maxSplits: 2)
            // As a topic's setting `enable.auto.commit` is an alias, but it is also a client's setting, which wins.
            if columns[5].hasPrefix("Alias for `"), alias.count == 3, name != "enable.auto.commit" {
                names[String(alias[1])] = name
            }
        }
        return names
    }
}
