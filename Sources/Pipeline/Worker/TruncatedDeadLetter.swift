/// What is kept of a dead letter that its topic refuses as it is (docs/kafka.md 20): the beginning of its value and of
/// its key, and as many of the record's own headers as fit. The reason is always whole.
///
/// Its bytes are the dead letter's. Allocates: not for the hot path.
package struct TruncatedDeadLetter {
    /// Of the value, and of the record's own headers together, their names included.
    static let mostBytes = 64 << 10
    static let mostKeyBytes = 4 << 10

    package let key: UnsafeRawBufferPointer?
    package let value: UnsafeRawBufferPointer?
    private var headers: [EventHeader] = []
    /// The names and sizes of what was cut.
    private var cuts: [(name: StaticString, size: [UInt8])] = []

    /// - Parameters:
    ///   - headers: the record's own, then the reason.
    ///   - own: how many are the record's own.
    package init(
        key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: UnsafeBufferPointer<EventHeader>,
        own: Int
    ) {
        self.key = key.map { UnsafeRawBufferPointer(rebasing: $0.prefix(Self.mostKeyBytes)) }
        self.value = value.map { UnsafeRawBufferPointer(rebasing: $0.prefix(Self.mostBytes)) }
        var room = Self.mostBytes
        for header in headers.prefix(own) {
            let size = header.name.count + (header.value?.count ?? 0)
            // One that is empty still costs a few bytes.
            guard size + 8 <= room else { continue }
            room -= size + 8
            self.headers.append(header)
        }
        let leftOut = min(own, headers.count) - self.headers.count
        self.headers += headers.dropFirst(own)
        if let value, value.count > Self.mostBytes { note("x-truncated", value.count) }
        if leftOut > 0 { note("x-truncated-headers", leftOut) }
        if let key, key.count > Self.mostKeyBytes { note("x-truncated-key", key.count) }
    }

    private mutating func note(_ name: StaticString, _ size: Int) { cuts.append((name, Array(String(size).utf8))) }

    /// The headers that are kept, the reason, and what was cut.
    package func withHeaders<Failure: Error>(
        _ body: (UnsafeBufferPointer<EventHeader>) throws(Failure) -> Void
    ) throws(Failure) {
        let sizes = cuts.flatMap(\.size)
        try sizes.withUnsafeBufferPointer { sizes throws(Failure) in
            var all = headers
            var start = 0
            for cut in cuts {
                let value = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: sizes[start..<start + cut.size.count]))
                all.append(EventHeader(name: UnsafeRawBufferPointer(cut.name), value: value))
                start += cut.size.count
            }
            try all.withUnsafeBufferPointer { all throws(Failure) in try body(all) }
        }
    }
}
