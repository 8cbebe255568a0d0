import CarillonTesting
import Events
import NotificationPayload
import StageSupport
import Testing

@testable import DispatchRecords
@testable import FanOut
@testable import Subscriptions

/// A record with bytes of its own.
struct PlainRecord: Hashable, Comparable, CustomTestStringConvertible {
    struct Header: Hashable {
        var name: String
        /// Nil is null.
        var value: String?
    }

    var key: String
    var value: String
    var headers: [Header]

    init(key: String = "place/7", value: String, headers: [(String, String?)]) {
        self.key = key
        self.value = value
        self.headers = headers.map { Header(name: $0.0, value: $0.1) }
    }

    init(_ record: DispatchRecord) {
        key = Self.text(record.key)
        value = Self.text(record.value)
        headers = record.headers.map { Header(name: Self.text($0.name), value: $0.value.map(Self.text)) }
    }

    subscript(header: String) -> String? { headers.first { $0.name == header }?.value }

    var testDescription: String { "\(key) \(value)" }

    static func < (left: PlainRecord, right: PlainRecord) -> Bool { left.key < right.key }

    /// Calls `body` with a view, which is valid during the call.
    func withRecord<Result>(_ body: (DispatchRecord) throws -> Result) rethrows -> Result {
        let memory = Memory()
        defer { withExtendedLifetime(memory) {} }
        let views = headers.map {
            EventHeader(name: memory.copy($0.name), value: $0.value.map { memory.copy($0) })
        }
        return try views.withUnsafeBufferPointer { views in
            try body(DispatchRecord(key: memory.copy(key), value: memory.copy(value), headers: views))
        }
    }

    /// The records for its single devices.
    func expanded() throws -> [PlainRecord] {
        var reader = GroupedReader()
        var found: [PlainRecord] = []
        try withRecord { record in try reader.forEachDevice(of: record) { found.append(PlainRecord($0)) } }
        return found
    }

    private static func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }
}

/// The same notifications in both forms.
struct GroupedTrial {
    var single: [PlainRecord] = []
    var grouped: [PlainRecord] = []

    init(
        _ batch: borrowing EventBatch, to devices: [Subscription], _ settings: RenderSettings = RenderSettings(),
        rule: any AudienceRule = PlaceAudience()
    ) throws {
        var fanOut = try makeFanOut(devices, rule: rule)
        _ = try fanOut.resolve(batch, from: 0, limit: 1_000_000)
        var renderer = MessageRenderer(settings: settings)
        for index in batch.notifications.indices {
            let recipients = fanOut.recipients(of: index, in: batch)
            #expect(renderer.begin(batch.notifications[index], in: batch, platforms: recipients.platforms) == nil)
            for position in recipients.devices {
                let device = fanOut.recipient(position)
                single.append(PlainRecord(renderer.render(device, audience: fanOut.audience(of: device))))
            }
            for position in recipients.devices {
                let device = fanOut.recipient(position)
                renderer.collect(device, audience: fanOut.audience(of: device)) { grouped.append(PlainRecord($0)) }
            }
            renderer.finishGroups { grouped.append(PlainRecord($0)) }
        }
    }

    func expanded() throws -> [PlainRecord] { try grouped.flatMap { try $0.expanded() } }

    /// How many devices each grouped record has.
    var sizes: [Int] { grouped.map { $0["devices"].flatMap { Int($0) } ?? 0 } }
}
