import KafkaClient

/// A copy of a record of the dispatch topic, with the sources of its fields if they are known.
package struct RenderedRecord: Equatable {
    package var key: [UInt8]
    package var value: [UInt8]
    package var headers: [RecordHeader]
    /// By field, the source that supplied it; empty for a record that was read from a topic.
    package var sources: [String: String] = [:]

    package init(key: [UInt8], value: [UInt8], headers: [RecordHeader]) {
        self.key = key
        self.value = value
        self.headers = headers
    }

    package init(_ record: DispatchRecord, sources: FieldSources? = nil) {
        self.init(
            key: Array(record.key), value: Array(record.value),
            headers: record.headers.map {
                RecordHeader(String(decoding: $0.name, as: UTF8.self), $0.value.map { Array($0) })
            })
        self.sources = sources.map(Self.texts) ?? [:]
    }

    /// The fields of `sources` as text.
    static func texts(of sources: FieldSources) -> [String: String] {
        ["time slot": "\(sources.timeSlot)", "date": "\(sources.date)", "order id": "\(sources.orderID)"]
    }

    package func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Calls `body` with a view of the record, which is valid during the call only.
    package func withDispatchRecord<Result>(_ body: (DispatchRecord) throws -> Result) rethrows -> Result {
        let text = headers.flatMap { Array($0.name.utf8) + ($0.value ?? []) }
        return try text.withUnsafeBytes { text in
            var start = 0
            func next(_ count: Int) -> UnsafeRawBufferPointer {
                defer { start += count }
                return UnsafeRawBufferPointer(rebasing: text[start..<start + count])
            }
            let views = headers.map { header in
                EventHeader(name: next(header.name.utf8.count), value: header.value.map { next($0.count) })
            }
            return try key.withUnsafeBytes { key in
                try value.withUnsafeBytes { value in
                    try views.withUnsafeBufferPointer { views in
                        try body(DispatchRecord(key: key, value: value, headers: views))
                    }
                }
            }
        }
    }

    // MARK: In a Scratch

    /// Key, value and headers.
    var packed: [UInt8] {
        PackedTexts.pack([key, value] + headers.flatMap { [Array($0.name.utf8), $0.value] })
    }

    /// Nil if none is known.
    var packedSources: [UInt8]? {
        sources.isEmpty ? nil : PackedTexts.pack(sources.flatMap { [$0.key, $0.value] })
    }

    /// - Parameter column: of ``packed``; that of the sources follows.
    init(_ row: Row, _ column: Int32) {
        let texts = PackedTexts.unpack(row.bytes(column))
        key = texts[0] ?? []
        value = texts[1] ?? []
        headers = stride(from: 2, to: texts.count, by: 2).map {
            RecordHeader(String(decoding: texts[$0] ?? [], as: UTF8.self), texts[$0 + 1])
        }
        let fields = PackedTexts.strings(row.bytes(column + 1))
        for index in stride(from: 0, to: fields.count, by: 2) { sources[fields[index]] = fields[index + 1] }
    }
}
