import FuzzSupport
import NotificationPayload
import Notifications

/// Extracts a record twice, in buffers that earlier records have used, and checks the results.
struct ExtractionCheck: ~Copyable {
    private var extractor: Extractor
    private var batch = EventBatch(.orders, topic: "orders.events")

    private let needsPlace: Bool

    /// - Parameters:
    ///   - audiences: the templates of audiences.
    ///   - types: the event types of the settings.
    ///   - members: a mapping of names.
    init(
        onMissingOrderID: ExtractionRules.MissingOrderID, audiences: String = "place/{place_id}", types: String = "{}",
        members: String = "{}"
    ) {
        needsPlace = audiences == "place/{place_id}"
        extractor = must {
            Extractor(
                rules: try ExtractionRules(
                    timeZone: "America/New_York", placeTimeZones: ["p1": "Asia/Kolkata"],
                    onMissingOrderID: onMissingOrderID,
                    audiences: AudienceTemplates(
                        AudienceTemplate.list(audiences), types: EventTypes(json: Array(types.utf8))),
                    members: MemberMapping(json: Array(members.utf8))))
        }
    }

    mutating func take(_ input: RecordInput) {
        batch.removeAll()
        batch.append(input)
        batch.records.append(batch.records[0])
        let first = extract(0)
        let second = extract(1)
        expect(first == second, "the same record gives the same: \(first) and \(second)")
    }

    /// The result of a record: its payloads, the reasons why there are none, or the code of its dead letter.
    private mutating func extract(_ record: Int) -> [String] {
        let notifications = batch.notifications.count
        let (text, audiences) = (batch.text.count, batch.audiences.count)
        var history = NoHistory()
        let outcome = extractor.extract(record, in: &batch, history: &history)
        if let traceparent = batch.records[record].traceparent {
            expect(Traceparent.isValid(traceparent), "a traceparent that goes on has W3C's form")
        }
        switch outcome {
        case .notifications(let count):
            expect(count > 0, "notifications are at least one")
            expect(batch.notifications.count == notifications + count, "the batch has as many as it says")
            for audience in batch.audiences[audiences...] {
                expect(Audience(of: batch.bytes(audience)) != nil, "an audience is one that a device may have")
            }
            return (notifications..<batch.notifications.count).map { check($0, of: record) }
        case .suppressed(let reason):
            expectUnchanged(notifications, text, audiences)
            return ["suppressed", reason.label]
        case .deadLetter(let letter):
            expectUnchanged(notifications, text, audiences)
            expect(letter.code != .recordRefused, "nothing is refused here")
            expect(!letter.message.isEmpty, "a dead letter says why")
            return ["dead letter", letter.code.label, letter.message]
        }
    }

    private func expectUnchanged(_ notifications: Int, _ text: Int, _ audiences: Int) {
        expect(batch.audiences.count == audiences, "who notifies nobody leaves no audience")
        expect(batch.notifications.count == notifications, "who notifies nobody leaves no notification")
        expect(batch.text.count == text, "who notifies nobody leaves no text")
    }

    private func check(_ index: Int, of record: Int) -> String {
        let notification = batch.notifications[index]
        expect(notification.record == record, "a notification names its record")
        let encoded = batch.payload(of: notification)
        expect(encoded.utf8.count == notification.payloadSize, "the payload has the size that it is said to have")
        expect(encoded.utf8.count <= EventLimits.maxPayloadSize, "the payload fits into a push")
        switch notification.kind {
        case .request: fail("an event gave the notification of a request")
        case .order(let order):
            check(encoded, notification, order)
            return encoded + order.audiences.map { batch.string(batch.audiences[Int($0)]) }.joined(separator: "\n")
        }
    }

    private func check(
        _ encoded: String, _ notification: Notifications.Notification, _ order: Notifications.Notification.Order
    ) {
        let payload = checkPayload(encoded, of: order)
        expect(payload.orderID == batch.string(order.orderID), "payload and notification name the same order")
        expect(payload.placeID == batch.string(order.placeID), "payload and notification name the same place")
        expect(payload.messageID == batch.string(notification.messageID), "they have the same message id")
        expect(
            payload.messageID.hasPrefix("msg-\(notification.eventTime.milliseconds)-"), "the id has the event's time")
        expect(payload.eventType == order.eventType.rawValue, "they have the same type")
        expect(
            (payload.statusChange != nil) == (order.eventType == .known(.orderStatusChanged)),
            "a change of status has its two, and nothing else has")
    }

    private func checkPayload(_ encoded: String, of order: Notifications.Notification.Order) -> OrderPayload {
        switch order.eventType {
        case .known:
            return FuzzSupport.checkPayload(encoded, isDegraded: order.isDegraded, needsPlace: needsPlace)
        case .own(let type):
            guard case .other(let other) = ReceivedNotification(data: ["default": encoded]) else {
                fail("a type of the settings is read as another one: \(encoded)")
            }
            let plain = other.order.payload.encoded()
            expect(encoded.hasPrefix(plain.dropLast(2)), "the payload begins with document 1's: \(encoded)")
            expect(other.fields.values.allSatisfy { !$0.isEmpty }, "an absent member is left out: \(encoded)")
            let isOptional = type.order == .optional
            expect(!(isOptional && order.isDegraded), "an order that is optional is not missed")
            let lacksOrder = order.isDegraded || isOptional && other.order.payload.orderID.isEmpty
            return FuzzSupport.checkPayload(plain, isDegraded: lacksOrder, needsPlace: needsPlace)
        }
    }
}
