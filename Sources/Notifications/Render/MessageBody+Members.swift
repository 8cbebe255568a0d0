extension MessageBody {
    /// Begins a member of a JSON object: a comma unless it is the object's first one, its name, and a colon.
    mutating func append(name: StaticString) {
        if last != UInt8(ascii: "{") { append(",") }
        append("\"")
        append(name)
        append("\":")
    }

    /// Appends a member with a string, given as its escaped inside.
    mutating func append(_ name: StaticString, string: UnsafeRawBufferPointer) {
        append(name: name)
        append("\"")
        append(string)
        append("\"")
    }

    mutating func append(_ name: StaticString, string: StaticString) {
        append(name, string: UnsafeRawBufferPointer(string))
    }

    /// Appends a member with a string, which is escaped; nothing if there is none.
    mutating func append(_ name: StaticString, escaping string: String?) {
        guard let string else { return }
        append(name: name)
        append("\"")
        append(escaping: string)
        append("\"")
    }

    /// Appends a member with a string of the batch; nothing if there is none.
    mutating func append(_ name: StaticString, string: TextRange?, of batch: borrowing EventBatch) {
        guard let string else { return }
        append(name, string: batch.bytes(string))
    }

    /// Appends a member with JSON of the batch; nothing if there is none.
    mutating func append(_ name: StaticString, json: TextRange?, of batch: borrowing EventBatch) {
        guard let json else { return }
        append(name: name)
        append(batch.bytes(json))
    }

    mutating func append(_ name: StaticString, number: Int64) {
        append(name: name)
        append(decimal: number)
    }

    /// Begins a member with an object, which ``endObject()`` ends.
    mutating func beginObject(_ name: StaticString) {
        append(name: name)
        append("{")
    }

    mutating func endObject() {
        append("}")
    }
}
