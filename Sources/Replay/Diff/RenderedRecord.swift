import DispatchRecords
import Events

/// A copy of a record of the dispatch topic, with the sources of its fields if they are known.
package struct RenderedRecord: Equatable {
    package struct Header: Equatable {
        package var name: String
        package var value: [UInt8]?
    }

    package var key: [UInt8]
    package var value: [UInt8]
    package var headers: [Header]
    /// By field, the source that supplied it; empty for a record that was read from a topic.
    package var sources: [String: String] = [:]

    package init(key: [UInt8], value: [UInt8], headers: [Header]) {
        self.key = key
        self.value = value
        self.headers = headers
    }

    package init(_ record: DispatchRecord, sources: FieldSources? = nil) {
        self.init(
            key: Array(record.key), value: Array(record.value),
            headers: record.headers.map {
                Header(name: String(decoding: $0.name, as: UTF8.self), value: $0.value.map { Array($0) })
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
            var place = 0
            func next(_ count: Int) -> UnsafeRawBufferPointer {
                defer { place += count }
                return UnsafeRawBufferPointer(rebasing: text[place..<place + count])
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

    // MARK: In a scratch store

    /// Each text after its length; a length of -1 means null.
    func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        func add(_ text: [UInt8]?) {
            bytes += bigEndian(Int32(text?.count ?? -1))
            bytes += text ?? []
        }
        add(key)
        add(value)
        bytes += bigEndian(Int32(headers.count))
        for header in headers {
            add(Array(header.name.utf8))
            add(header.value)
        }
        for (field, source) in sources.sorted(by: { $0.key < $1.key }) {
            add(Array(field.utf8))
            add(Array(source.utf8))
        }
        return bytes
    }

    init(decoding bytes: UnsafeRawBufferPointer) {
        var place = 0
        func number() -> Int {
            defer { place += 4 }
            return Int(Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: Int32.self)))
        }
        func text() -> [UInt8]? {
            let count = number()
            guard count >= 0 else { return nil }
            defer { place += count }
            return Array(bytes[place..<place + count])
        }
        func string() -> String { String(decoding: text() ?? [], as: UTF8.self) }
        key = text() ?? []
        value = text() ?? []
        let count = number()
        headers = []
        for _ in 0..<count { headers.append(Header(name: string(), value: text())) }
        while place < bytes.count { sources[string()] = string() }
    }
}
