import JSONReader
import Registrar

extension KafkaLog {
    /// Who was erased by now, by `topic.erasures`; nobody without `topic.commands`.
    package mutating func suppressionList() throws -> SuppressionList {
        var list = SuppressionList()
        guard !configuration.topics.commands.isEmpty else { return list }
        let topic = configuration.topics.erasures
        var reader = JSONReader()
        try read(try bounds(of: topic), of: topic) { records, indices in
            for index in indices {
                list.take(
                    key: records[index].key.map { Array($0) }, value: records[index].value.map { Array($0) }, &reader)
            }
        }
        return list
    }
}

extension ReplaySession {
    /// See ``KafkaLog/suppressionList()``.
    package mutating func suppressionList() throws -> SuppressionList { try log.suppressionList() }
}
