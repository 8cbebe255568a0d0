import JSONReader
import KafkaClient
import Notifications
import Pipeline

/// Tells a lane's own records from the others. The parser's memory is reused; one owner.
struct LaneRecordReader: ~Copyable {
    enum Finding {
        case own(LaneRecord, RetryNote?)
        /// It is another provider's.
        case other
        /// Nobody can send it, for this reason: its key or headers are none of a dispatch record, or of a retry.
        case unreadable(String)
    }

    /// What a record has by which a lane asks for the broker's time (ADR 60).
    static let clockHeader: StaticString = "clock-check"

    private let provider: Platform
    private let credentials: CredentialMap
    /// How the header `source` of a broadcast's push begins.
    private let broadcasts: String
    /// Whether `topic.control` is set.
    private let isControlled: Bool
    private var json = JSONReader()

    init(_ context: SenderContext, _ provider: Platform) {
        self.provider = provider
        credentials = context.credentials
        isControlled = context.control != nil
        broadcasts = "\(context.configuration.topics.broadcasts)/0/"
    }

    mutating func read(_ record: RecordView, _ headers: [HeaderView], from stream: LaneStream) -> Finding {
        let own = headers[record.headers]
        func header(_ name: StaticString) -> UnsafeRawBufferPointer? {
            own.last { $0.name.elementsEqual(name.bytes) }.flatMap(\.value)
        }
        guard header(Self.clockHeader) == nil else { return .other }
        let target: DispatchTarget
        do throws(DispatchTargetError) {
            target = try DispatchTarget(key: record.key, value: record.value, header: header, &json)
        } catch {
            return .unreadable("\(error)")
        }
        guard target.platform == provider else { return .other }
        // A retry's note makes no push too large.
        let size = own.reduce(record.value?.count ?? 0) { size, header in
            header.name.elementsEqual(RetryNote.header.bytes)
                ? size : size + header.name.count + (header.value?.count ?? 0)
        }
        guard size <= LaneRecord.maxSize else {
            return .unreadable("its value and headers have \(size) bytes, at most \(LaneRecord.maxSize) are allowed")
        }
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
        let broadcasts = self.broadcasts
        let source: UnsafeRawBufferPointer? =
            switch stream.kind {
            case .orders: nil
            case .broadcasts: header(DispatchHeader.source.name)
            }
        return .own(
            LaneRecord(
                kind: stream.kind, partition: record.partition, source: note?.offset ?? record.offset,
                device: DeviceOrder.device(of: target.deviceHash), deviceHash: target.deviceHash,
                messageID: target.messageID, platform: target.platform, app: target.app,
                environment: target.environment,
                credential: credentials.credential(target.platform, app: target.app, target.environment),
                expiresAt: target.expiresAt, appendedAt: stream.tier == nil ? record.timestamp : nil,
                requestID: isControlled ? header(DispatchHeader.requestID.name).map { Hash128($0) } : nil,
                command: isControlled
                    ? SubscriptionRecord.command(header(DispatchHeader.command.name)) : nil,
                broadcast: source.flatMap { Self.broadcast($0, in: broadcasts) },
                value: record.value.map { Array($0) } ?? [],
                headers: own.compactMap { header in
                    guard !header.name.elementsEqual(RetryNote.header.bytes) else { return nil }
                    return LaneRecord.Header(name: Array(header.name), value: header.value.map { Array($0) })
                }, size: size), note)
    }

    /// The offset in `<topic.broadcasts>/0/<offset>`; nil for any other source.
    private static func broadcast(_ source: UnsafeRawBufferPointer, in prefix: String) -> Int64? {
        guard source.starts(with: prefix.utf8) else { return nil }
        return MetadataWords.number(
            String(decoding: source.dropFirst(prefix.utf8.count), as: UTF8.self)[...], 0...Int64.max)
    }
}

extension StaticString {
    fileprivate var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount)
    }
}
