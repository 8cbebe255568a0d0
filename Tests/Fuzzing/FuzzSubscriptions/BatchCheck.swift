import FuzzSupport

@testable import Notifications

/// Applies records as one batch and one by one: the table is the same.
enum BatchCheck {
    private typealias Record = (key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?)

    /// - Parameter input: records with a line `%` between them; of each the key, a newline and the value, or the key alone,
    ///   which unsubscribes.
    static func take(_ input: UnsafeRawBufferPointer) {
        var records: [Record] = []
        var rest: UnsafeRawBufferPointer? = input
        while let more = rest, records.count < 16 {
            let (record, behind) = more.split(at: Array("\n%\n".utf8))
            rest = record == nil ? nil : behind
            let (key, value) = (record ?? behind).split(at: [0x0A])
            records.append(key.map { ($0, value) } ?? (value, nil))
        }
        let (whole, single) = (SubscriptionTable.inMemory(), SubscriptionTable.inMemory())
        apply(records, from: 0, to: whole)
        for (offset, record) in records.enumerated() { apply([record], from: offset, to: single) }
        for record in records {
            guard let audience = SubscriptionKey.View(record.key)?.audience else { continue }
            let (left, right) = (tokens(of: audience, in: whole), tokens(of: audience, in: single))
            expect(left == right, "a batch makes no difference: \(left), then \(right)")
        }
    }

    private static func apply(_ records: [Record], from offset: Int, to table: SubscriptionTable) {
        let change = must {
            try table.apply(
                records.enumerated().map { index, record in
                    SubscriptionRecord(
                        partition: 0, offset: Int64(offset + index), key: record.key, value: record.value)
                }, nextOffsets: [Int64(offset + records.count)], at: .epoch)
        }
        expect(change.examples.count == min(change.malformed, 10), "what is skipped is described: \(change)")
        for example in change.examples {
            expect(Set(example.problems).count == example.problems.count, "a problem is said once: \(example)")
        }
    }

    private static func tokens(of audience: UnsafeRawBufferPointer, in table: SubscriptionTable) -> [[UInt8]] {
        var list = DeviceList()
        list.removeAll(audiences: 1)
        return must {
            var reader = try table.makeReader()
            try reader.begin()
            try reader.addDevices(of: audience, as: 0, limit: 100, to: &list)
            return list.devices.map { Array($0.token) + Array($0.app) + Array($0.locale) }
        }
    }
}
