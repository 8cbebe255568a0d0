import Deliveries
import JSONReader
import KafkaClient
import Pipeline
import Subscriptions

/// Tells a lane's own records from the others. The parser's memory is reused; one owner.
struct LaneRecordReader: ~Copyable {
    enum Finding {
        case own(LaneRecord, RetryNote?)
        /// Another lane sends it.
        case other
        /// No lane can send it, for this reason: its key or headers are none of a dispatch record, or of a retry.
        case unreadable(String)
    }

    private let lane: String
    private let lanes: LaneMap
    private let credentials: CredentialMap
    private var json = JSONReader()

    init(_ context: DeliveryContext, lane: String) {
        self.lane = lane
        lanes = context.configuration.delivery.lanes
        credentials = context.credentials
    }

    mutating func read(_ record: RecordView, _ headers: [HeaderView], from stream: LaneStream) -> Finding {
        let own = headers[record.headers]
        func header(_ name: StaticString) -> UnsafeRawBufferPointer? {
            own.last { $0.name.elementsEqual(name.bytes) }.flatMap(\.value)
        }
        let target: DispatchTarget
        do throws(DispatchTargetError) {
            target = try DispatchTarget(key: record.key, value: record.value, header: header, &json)
        } catch {
            return .unreadable("\(error)")
        }
        guard lanes.lane(target.platform, app: target.app, target.environment) == lane else { return .other }
        var note: RetryNote?
        switch stream {
        case .dispatch: break
        case .tier:
            guard let text = header(RetryNote.header), let read = RetryNote(String(decoding: text, as: UTF8.self))
            else {
                return .unreadable("it has no header \(RetryNote.header) that can be read")
            }
            note = read
        }
        return .own(
            LaneRecord(
                partition: record.partition, source: note?.offset ?? record.offset,
                device: DeviceOrder.device(of: target.deviceHash), deviceHash: target.deviceHash,
                messageID: target.messageID, platform: target.platform, app: target.app,
                environment: target.environment,
                credential: credentials.credential(target.platform, app: target.app, target.environment),
                expiresAt: target.expiresAt, appendedAt: stream == .dispatch ? record.timestamp : nil,
                value: record.value.map { Array($0) } ?? [],
                headers: own.compactMap { header in
                    guard !header.name.elementsEqual(RetryNote.header.bytes) else { return nil }
                    return LaneRecord.Header(name: Array(header.name), value: header.value.map { Array($0) })
                }), note)
    }
}

extension StaticString {
    fileprivate var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount)
    }
}
