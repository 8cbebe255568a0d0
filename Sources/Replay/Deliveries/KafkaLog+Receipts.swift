import JSONReader
import KafkaClient
import Notifications

extension KafkaLog {
    /// Reads receipts from ranges of the topic that has them. What is none is passed over.
    ///
    /// - Parameters:
    ///   - isWanted: whether to parse a record, by its key.
    ///   - progress: the number of records so far, and the fraction that was read.
    func readReceipts(
        _ ranges: [Int32: Range<Int64>], of topic: String,
        where isWanted: (UnsafeRawBufferPointer?) -> Bool = { _ in true }, take: (Receipt) -> Void,
        progress: (Int, Double) -> Void
    ) throws {
        var reader = JSONReader()
        try read(ranges, of: topic) { records, indices in
            for index in indices where isWanted(records[index].key) {
                guard let value = records[index].value.flatMap({ try? reader.parse($0) }),
                    let receipt = Receipt(value)
                else { continue }
                take(receipt)
            }
        } progress: {
            progress($0, $1)
        }
    }
}

/// What phones have said of pushes.
struct PushReceipts {
    private struct Push: Hashable {
        var messageID: String
        var device: String
    }

    private var devices: Set<String> = []
    private var found: [Push: [Receipt.Kind: WallTime]] = [:]

    init(of explanations: [Explanation]) {
        for push in explanations.flatMap(\.pushes) {
            devices.insert(push.device)
            found[Push(messageID: push.messageID, device: push.device)] = [:]
        }
    }

    var isEmpty: Bool { found.isEmpty }

    func wants(_ key: UnsafeRawBufferPointer?) -> Bool {
        key.map { devices.contains(String(decoding: $0, as: UTF8.self)) } ?? false
    }

    /// Of a kind the first counts.
    mutating func note(_ receipt: Receipt) {
        let push = Push(messageID: receipt.messageID, device: receipt.device)
        guard let known = found[push] else { return }
        found[push]?[receipt.kind] = min(known[receipt.kind] ?? receipt.at, receipt.at)
    }

    func add(to explanations: inout [Explanation]) {
        for index in explanations.indices {
            for at in explanations[index].pushes.indices {
                let push = explanations[index].pushes[at]
                explanations[index].pushes[at].receipts =
                    found[Push(messageID: push.messageID, device: push.device)] ?? [:]
            }
        }
    }
}

extension ReplaySession {
    /// Adds what phones have said of the pushes; a note says if that is not known.
    mutating func addReceipts(to explanations: inout [Explanation]) throws {
        let topic = configuration.topics.receipts
        var receipts = PushReceipts(of: explanations)
        guard !topic.isEmpty, !receipts.isEmpty else { return }
        do {
            try log.readReceipts(try written(to: topic).range, of: topic) { [receipts] in
                receipts.wants($0)
            } take: {
                receipts.note($0)
            } progress: {
                context.progress(.outcomes, $0, $1)
            }
        } catch let error as KafkaError where error.leavesOutcomesUnknown {
            return input.notes.append("what phones have said of the pushes is not known: \(error)")
        }
        receipts.add(to: &explanations)
    }
}
