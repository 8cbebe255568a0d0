import Digests
import Events
import NotificationPayload
import Subscriptions

/// Makes the records for single devices out of a record of the dispatch topic: byte for byte those that
/// ``DispatchGrouping/device`` writes.
///
/// Every reader of the topic uses it, so that all else knows single devices. One owner; the memory is reused.
package struct GroupedReader: ~Copyable {
    private struct Entry {
        var hash: UnsafeRawBufferPointer
        /// As it is escaped.
        var token: UnsafeRawBufferPointer
    }

    private var platform = Platform.fcm
    private var entries: [Entry] = []
    private var headers: [EventHeader] = []
    private var body = MessageBody()

    package init() {}

    /// Calls `use` with the record for each device, in the order of the list; with the record itself if it is not
    /// grouped. They are valid during the call.
    ///
    /// - Throws: ``GroupedRecordError`` before the first call; what `use` throws.
    package mutating func forEachDevice(
        of record: DispatchRecord, _ use: (DispatchRecord) throws -> Void
    ) throws {
        guard record.isGrouped else { return try use(record) }
        try read(record)
        for entry in entries {
            body.removeFront()
            body.prepend(entry.token)
            body.prepend(GroupedForm.head(of: platform))
            let value = body.bytes
            try headers.withUnsafeBufferPointer { headers in
                try use(DispatchRecord(key: entry.hash, value: value, headers: headers))
            }
        }
    }

    private mutating func read(_ record: DispatchRecord) throws(GroupedRecordError) {
        let said: Int
        do throws(DispatchRecordError) {
            platform = try record.platform
            said = try record.devices ?? 0
        } catch {
            throw .header(error)
        }
        var scan = GroupedScan(record.value)
        entries.removeAll(keepingCapacity: true)
        var isMore = scan.skip(GroupedForm.start)
        while isMore {
            guard scan.skip(GroupedForm.beforeHash), let hash = scan.hash(), scan.skip(GroupedForm.beforeToken),
                let token = scan.token(), scan.skip(GroupedForm.afterEntry)
            else { throw .value(at: scan.place) }
            entries.append(Entry(hash: hash, token: token))
            isMore = scan.skip(",")
        }
        guard !entries.isEmpty, scan.skip(GroupedForm.afterDevices(of: platform)), !scan.rest.isEmpty else {
            throw .value(at: scan.place)
        }
        guard entries.count == said else { throw .count(said: said, found: entries.count) }
        body.removeAll()
        body.append(GroupedForm.afterToken)
        body.append(scan.rest)
        headers.removeAll(keepingCapacity: true)
        for header in record.headers where !DispatchHeader.devices.matches(header.name) { headers.append(header) }
    }
}

/// A walk over the list of devices.
private struct GroupedScan {
    private let text: UnsafeRawBufferPointer
    private(set) var place = 0

    init(_ text: UnsafeRawBufferPointer) {
        self.text = text
    }

    var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: text[place...]) }

    /// - Returns: whether the text has it here; then it is behind.
    mutating func skip(_ expected: StaticString) -> Bool {
        let bytes = UnsafeRawBufferPointer(expected)
        guard text.count - place >= bytes.count,
            sameBytes(UnsafeRawBufferPointer(rebasing: text[place..<place + bytes.count]), bytes)
        else { return false }
        place += bytes.count
        return true
    }

    mutating func hash() -> UnsafeRawBufferPointer? {
        guard text.count - place >= 64 else { return nil }
        let digits = UnsafeRawBufferPointer(rebasing: text[place..<place + 64])
        guard Hex.isHash(digits) else { return nil }
        place += 64
        return digits
    }

    /// The inside of a JSON string that is not empty.
    mutating func token() -> UnsafeRawBufferPointer? {
        var end = place
        while end < text.count, text[end] != UInt8(ascii: "\"") {
            end += text[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard end > place, end < text.count else { return nil }
        defer { place = end }
        return UnsafeRawBufferPointer(rebasing: text[place..<end])
    }
}
