import Notifications

/// A record as the fuzzers read it: lines up to an empty one, then its value; without an empty line the whole input is the
/// value.
///
/// A line `name: value` is a header, and one without `: ` a header whose value is null. Lines that begin with `@` are not:
///
///     @timestamp: -9223372036854775808    milliseconds; not a number: the record has none
///     @key: o1
///     @times: 500                         so often the header before it, too
///     @size: 60000                        so many bytes are the value of the header before it
package struct RecordInput {
    package private(set) var value: UnsafeRawBufferPointer
    package private(set) var key: UnsafeRawBufferPointer?
    package private(set) var timestamp: WallTime? = RecordInput.noon
    package private(set) var headers: [EventHeader] = []

    /// The timestamp of an input that has none.
    package static let noon = WallTime(milliseconds: 1_751_896_800_000)
    /// Of the values of all its headers.
    private static let mostBytes = 4 << 20
    private static let mostHeaders = 2_000
    // Never changed.
    nonisolated(unsafe) private static let filler = {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 1)
        bytes.initializeMemory(as: UInt8.self, repeating: UInt8(ascii: "x"))
        return UnsafeRawBufferPointer(bytes)
    }()

    package init(_ input: UnsafeRawBufferPointer) {
        let (lines, value) = input.split(at: [0x0A, 0x0A])
        self.value = value
        for line in lines?.split(separator: 0x0A, omittingEmptySubsequences: true) ?? [] {
            let (name, value) = UnsafeRawBufferPointer(rebasing: line).split(at: [0x3A, 0x20])
            switch name.map({ String(decoding: $0, as: UTF8.self) }) {
            case "@timestamp": timestamp = Self.number(value).map { WallTime(milliseconds: $0) }
            case "@key": key = value
            case "@times":
                guard let last = headers.last, let times = Self.number(value) else { continue }
                let most = min(
                    Self.mostHeaders - headers.count, Self.mostBytes / max(1, last.value?.count ?? 0))
                headers += repeatElement(last, count: max(0, min(most, Int(clamping: times))))
            case "@size":
                guard !headers.isEmpty, let size = Self.number(value) else { continue }
                headers[headers.count - 1].value = UnsafeRawBufferPointer(
                    rebasing: Self.filler.prefix(max(0, Int(clamping: size))))
            default: headers.append(EventHeader(name: name ?? value, value: name == nil ? nil : value))
            }
        }
    }

    /// Records with a line `%` between them; of more than 16 the first ones.
    package static func all(_ input: UnsafeRawBufferPointer) -> [RecordInput] {
        var records: [RecordInput] = []
        var rest = input
        while records.count < 15 {
            let (record, behind) = rest.split(at: Array("\n%\n".utf8))
            guard let record else { break }
            records.append(RecordInput(record))
            rest = behind
        }
        return records + [RecordInput(rest)]
    }

    private static func number(_ bytes: UnsafeRawBufferPointer) -> Int64? {
        Int64(String(decoding: bytes, as: UTF8.self))
    }
}

extension EventBatch {
    /// Makes it the next record, of partition 3.
    package mutating func append(_ input: RecordInput, offset: Int64 = 17) {
        let first = headers.count
        headers += input.headers
        records.append(
            EventRecord(
                partition: 3, offset: offset, timestamp: input.timestamp, key: input.key,
                value: input.value, headers: first..<headers.count))
    }
}
