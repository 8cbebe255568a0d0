import KafkaClient

/// Position of a re-drive in one partition of its input, committed in the transaction that sent everything before it.
package struct RedrivePosition: Equatable, Sendable {
    /// An offset that exists or existed in the partition, for tools that show the group.
    package var offset: Int64
    /// What is needed to resume, as text defined by the sender; at most 3,900 bytes.
    package var text: String
}

/// A position as committed by the group, with the process that committed it.
struct OwnedPosition: Equatable {
    /// Distinguishes it from the offset metadata of pipelines and of later versions.
    private static let version = "carillon-replay/1"
    private static let mostBytes = 4_096

    var position: RedrivePosition
    /// A text unique to the process.
    var owner: String

    init(_ position: RedrivePosition, owner: String) {
        self.position = position
        self.owner = owner
    }

    /// - Throws: ``ReplayRefusal`` for a position that this version did not write.
    init(_ committed: CommittedOffset, group: String) throws(ReplayRefusal) {
        let words = committed.metadata.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count == 3, words[0] == Self.version else {
            throw ReplayRefusal(
                "group \(group) was not committed by this version of carillon replay; choose another --id")
        }
        owner = String(words[1])
        position = RedrivePosition(offset: committed.offset.value, text: String(words[2]))
    }

    /// - Throws: ``ReplayRefusal`` if the broker would not accept it.
    func committed() throws(ReplayRefusal) -> CommittedOffset {
        let text = "\(Self.version) \(owner) \(position.text)"
        guard text.utf8.count <= Self.mostBytes else {
            throw ReplayRefusal("the cursor has \(text.utf8.count) bytes, and a broker takes \(Self.mostBytes)")
        }
        return CommittedOffset(offset: Offset(max(0, position.offset)), metadata: text)
    }
}

/// Another process was started with the same id: it continues, and this one sends nothing more.
package struct RedriveTakenOver: Error, CustomStringConvertible {
    package var id: String

    package var description: String {
        "replay \(id) is in use: another process was started with the same --id and continues it; this one sends nothing more"
    }
}

/// A record that the broker rejects, such as one that is too large. Nothing of its transaction was sent.
package struct RecordRefused: Error {
    package var error: KafkaError
}
