import KafkaClient

/// Where a re-drive stands in one partition of what it reads. It is committed in the transaction that sent what is before it.
package struct RedrivePosition: Equatable, Sendable {
    /// An offset that the partition has or had, for tools that show the group.
    package var offset: Int64
    /// What it takes to go on from here, in the words of whoever sends; at most 3,900 bytes.
    package var text: String

    package init(offset: Int64, text: String) {
        self.offset = offset
        self.text = text
    }
}

/// A position as the group has it: with the process that committed it.
struct OwnedPosition: Equatable {
    /// Told from the offset metadata of pipelines, and of later versions.
    private static let version = "carillon-replay/1"
    private static let mostBytes = 4_096

    var position: RedrivePosition
    /// A word that no other process has.
    var owner: String

    init(_ position: RedrivePosition, owner: String) {
        self.position = position
        self.owner = owner
    }

    /// - Throws: ``ReplayRefusal`` for what this version has not written.
    init(_ committed: CommittedOffset, group: String) throws(ReplayRefusal) {
        let words = committed.metadata.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count == 3, words[0] == Self.version else {
            throw ReplayRefusal(
                "group \(group) was not committed by this version of carillon replay; choose another --id")
        }
        owner = String(words[1])
        position = RedrivePosition(offset: committed.offset.value, text: String(words[2]))
    }

    /// - Throws: ``ReplayRefusal`` where the broker would not take it.
    func committed() throws(ReplayRefusal) -> CommittedOffset {
        let text = "\(Self.version) \(owner) \(position.text)"
        guard text.utf8.count <= Self.mostBytes else {
            throw ReplayRefusal("the cursor has \(text.utf8.count) bytes, and a broker takes \(Self.mostBytes)")
        }
        return CommittedOffset(offset: Offset(max(0, position.offset)), metadata: text)
    }
}

/// Another process was started with the same id: it goes on, this one sends nothing more.
package struct RedriveTakenOver: Error, CustomStringConvertible {
    package var id: String

    package init(id: String) {
        self.id = id
    }

    package var description: String {
        "replay \(id) is in use: another process was started with the same --id and goes on with it; this one sends nothing more"
    }
}

/// A record that no broker will take, such as one that is too large. Nothing of its transaction was sent.
package struct RecordRefused: Error {
    package var error: KafkaError
}
