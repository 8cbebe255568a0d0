import JSONReader
import NotificationPayload

/// The members of `app.data` or of `message.extras` while a request is read: without repetitions, in its order.
///
/// Its texts belong to the document, or to whoever added them. One owner; reused from request to request.
struct CustomMembers: ~Copyable {
    private struct Member {
        let key: UnsafeRawBufferPointer
        /// As the request has it; nil for a member that was added.
        var value: JSONValue?
        /// What is sent in the place of ``value``.
        var text: UnsafeRawBufferPointer?

        /// Null is absent.
        var isPresent: Bool { text != nil || value?.isNull == false }
    }

    private var members: [Member] = []
    private var keys = DistinctTexts()
    private var scratch = ByteWriter(capacity: 1024)
    private var spelling = Spelling.json

    /// How the text of a boolean is spelled.
    enum Spelling {
        /// `True`, `False`: document 2.
        case capitalised
        /// `true`, `false`.
        case json
    }

    /// Empties it for the members of another request.
    mutating func begin(_ spelling: Spelling) {
        self.spelling = spelling
        members.removeAll(keepingCapacity: true)
        keys.removeAll()
    }

    /// Adds a member of the request; of a repeated one the last value counts, in the place of the first.
    mutating func set(_ key: UnsafeRawBufferPointer, _ value: JSONValue) {
        let (position, isNew) = keys.insert(key)
        if isNew {
            members.append(Member(key: key, value: value))
        } else {
            members[position].value = value
        }
    }

    /// Every key of the request, also of members that are null. Only before ``add(_:_:)``.
    var ownKeys: [UnsafeRawBufferPointer] { keys.texts }

    /// Adds a member after those of the request.
    mutating func add(_ key: UnsafeRawBufferPointer, _ text: UnsafeRawBufferPointer) {
        members.append(Member(key: key, text: text))
    }

    /// What is sent in the place of a member's value.
    mutating func replace(_ position: Int, by text: UnsafeRawBufferPointer) {
        members[position].text = text
    }

    /// Where a member is that is not null.
    func position(of key: UnsafeRawBufferPointer) -> Int? {
        if let position = keys.position(of: key), members[position].isPresent { return position }
        return members[keys.texts.count...].firstIndex { sameBytes($0.key, key) }
    }

    func position(of key: StaticString) -> Int? {
        position(of: UnsafeRawBufferPointer(key))
    }

    /// A member's value as the request has it.
    func value(_ position: Int) -> JSONValue? { members[position].value }

    /// A member's value as FCM's `data` has it, valid until the next call (docs/rules.md §8.6).
    mutating func text(_ position: Int) -> UnsafeRawBufferPointer {
        if let text = members[position].text { return text }
        guard let value = members[position].value else { return UnsafeRawBufferPointer("") }
        if let text = value.string { return text.bytes }
        if let flag = value.boolean {
            switch spelling {
            case .capitalised: return UnsafeRawBufferPointer(flag ? "True" : "False" as StaticString)
            case .json: return UnsafeRawBufferPointer(flag ? "true" : "false" as StaticString)
            }
        }
        scratch.removeAll()
        scratch.append(json: value)
        return scratch.bytes
    }

    /// Writes every member as a string, each with a comma after it, and returns the bytes of their keys and texts.
    ///
    /// - Parameter marked: calls `mark` with the range of the escaped text of the member at this position.
    mutating func writeStrings(
        to output: inout ByteWriter, marked: Int? = nil, mark: (TextRange) -> Void = { _ in }
    ) -> Int {
        var size = 0
        for position in members.indices where members[position].isPresent {
            let text = text(position)
            size += members[position].key.count + text.count
            writeKey(position, to: &output)
            output.append(UInt8(ascii: "\""))
            let start = output.count
            output.appendEscaped(text)
            if position == marked {
                mark(TextRange(start: start, count: output.count - start))
            }
            output.append("\"," as StaticString)
        }
        return size
    }

    /// Writes every member with its JSON value, each with a comma after it.
    func writeValues(to output: inout ByteWriter) {
        for position in members.indices where members[position].isPresent {
            writeKey(position, to: &output)
            if let text = members[position].text {
                output.append(quoted: text)
            } else if let value = members[position].value {
                output.append(json: value)
            }
            output.append(UInt8(ascii: ","))
        }
    }

    private func writeKey(_ position: Int, to output: inout ByteWriter) {
        output.append(quoted: members[position].key)
        output.append(UInt8(ascii: ":"))
    }
}
