import Events

extension EventBatch {
    /// Adds headers from lines `name: value`; a line without `: ` is the name of a header whose value is null.
    package mutating func readHeaders(_ lines: UnsafeRawBufferPointer) {
        for line in lines.split(separator: 0x0A, omittingEmptySubsequences: true) {
            let (name, value) = UnsafeRawBufferPointer(rebasing: line).split(at: [0x3A, 0x20])
            headers.append(EventHeader(name: name ?? value, value: name == nil ? nil : value))
        }
    }
}
