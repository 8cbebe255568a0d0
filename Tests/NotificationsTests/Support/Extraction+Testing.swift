import NotificationPayload

@testable import Notifications

/// A record of orders.events, as a test writes it.
struct TestRecord {
    var topic = "orders.events"
    var partition: Int32 = 0
    var offset: Int64 = 0
    var timestamp: WallTime?
    var key: [UInt8]?
    var value: [UInt8]?
    var headers: [(name: String, value: [UInt8]?)] = []

    init(_ value: String, key: String? = nil, headers: [(String, String)] = []) {
        self.value = Array(value.utf8)
        self.key = key.map { Array($0.utf8) }
        self.headers = headers.map { ($0.0, Array($0.1.utf8)) }
    }

    init(bytes: [UInt8]?) {
        value = bytes
    }
}

/// The outcome of a record, as values.
struct TestResult {
    var notifications: [TestNotification] = []
    var reason: SuppressionReason?
    var deadLetter: DeadLetter?
    var notes = ExtractionNotes()

    var code: DeadLetter.Code? { deadLetter?.code }
    /// The payload of the only notification.
    var payload: OrderPayload? { notifications.count == 1 ? notifications[0].payload : nil }
    var slot: [String]? { payload.map { [$0.startTime, $0.endTime] } }
    var sources: FieldSources? { notifications.count == 1 ? notifications[0].sources : nil }
}

struct TestNotification {
    var eventType: OrderEventType
    var eventTime: WallTime
    var messageID: String
    var placeID: String
    var orderID: String
    var encoded: String
    var payload: OrderPayload
    var sources: FieldSources
    var mappedNames: MappedNamesFound
    var orderType: OrderType?
    var isDegraded: Bool
    var audiences: [String]
}

/// Bytes at an address of their own, as librdkafka returns them: nothing after them may be read.
final class OwnedBytes {
    let bytes: UnsafeRawBufferPointer

    init(_ source: [UInt8]) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: source.count, alignment: 1)
        copy.copyBytes(from: source)
        bytes = UnsafeRawBufferPointer(copy)
    }

    deinit {
        bytes.deallocate()
    }
}

func extract(_ json: String, rules: ExtractionRules? = nil) -> TestResult {
    extract([TestRecord(json)], rules: rules)[0]
}

func extract(_ record: TestRecord, rules: ExtractionRules? = nil) -> TestResult {
    extract([record], rules: rules)[0]
}

/// Runs records through one extractor, batch by batch in the given order.
func extract(_ records: [TestRecord], rules: ExtractionRules? = nil) -> [TestResult] {
    guard let rules = rules ?? (try? ExtractionRules()) else { return [] }
    var extractor = Extractor(rules: rules)
    var history = NoHistory()
    var batch = EventBatch(.orders, topic: "")
    var owned: [OwnedBytes] = []
    func own(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        let copy = OwnedBytes(bytes)
        owned.append(copy)
        return copy.bytes
    }
    for record in records {
        let first = batch.headers.count
        for header in record.headers {
            batch.headers.append(EventHeader(name: own(Array(header.name.utf8)), value: header.value.map(own)))
        }
        batch.records.append(
            EventRecord(
                partition: record.partition, offset: record.offset,
                timestamp: record.timestamp, key: record.key.map(own),
                value: record.value.map(own), headers: first..<batch.headers.count))
    }
    return withExtendedLifetime(owned) {
        records.indices.map { index in
            extractor.notes = ExtractionNotes()
            batch.topic = records[index].topic
            var result = TestResult()
            let start = batch.notifications.count
            let textStart = batch.text.count
            let audienceStart = batch.audiences.count
            switch extractor.extract(index, in: &batch, history: &history) {
            case .notifications(let count):
                result.notifications = batch.notifications.suffix(count).map { TestNotification($0, in: batch) }
            case .suppressed(let reason):
                result.reason = reason
            case .deadLetter(let deadLetter):
                result.deadLetter = deadLetter
            }
            if result.notifications.isEmpty,
                batch.notifications.count != start || batch.text.count != textStart
                    || batch.audiences.count != audienceStart
            {
                result.deadLetter = DeadLetter(.recordRefused, "the batch was changed")
            }
            result.notes = extractor.notes
            return result
        }
    }
}

extension TestNotification {
    init(_ notification: Notification, in batch: borrowing EventBatch) {
        switch notification.kind {
        case .request: preconditionFailure("an event gave the notification of a request")
        case .order(let order):
            eventType = order.eventType
            placeID = batch.string(order.placeID)
            orderID = batch.string(order.orderID)
            sources = order.sources
            mappedNames = order.mappedNames
            orderType = order.orderType
            isDegraded = order.isDegraded
            audiences = order.audiences.map { batch.string(batch.audiences[Int($0)]) }
        }
        eventTime = notification.eventTime
        messageID = batch.string(notification.messageID)
        encoded = batch.payload(of: notification)
        payload =
            (try? OrderPayload(encoded: encoded))
            ?? OrderPayload(
                messageID: "", orderID: "", parentOrderID: "", visibleID: "", eventType: "", deliveryDate: "",
                startTime: "", endTime: "", placeID: "")
    }
}

/// An ORDER_CREATED whose order has these members besides its id and place.
func created(_ members: String, event: String = "") -> String {
    let more = members.isEmpty ? "" : "," + members
    let besides = event.isEmpty ? "" : "," + event
    return """
        {"event_type":"ORDER_CREATED","occurred_at":"2025-07-07T10:00:00Z"\(besides),\
        "order":{"id":"o1","place_id":"p1"\(more)}}
        """
}

/// The same event with a slot's start and end, each as JSON.
func created(start: String, end: String) -> String {
    created(#""shipping_info":{"slot":{"start_time":\#(start),"end_time":\#(end)}}"#)
}
