import HTTPServer
import JSONReader
import KafkaClient
import Notifications
import Synchronization
import Testing

@testable import API

/// Takes receipts, and says of each what it is told to.
private final class PlayedTopic: RecordTaker {
    let outcome = Mutex(DeliveryReport.Outcome.written(partition: 0, offset: 0))
    let records = Mutex<[ProducerRecord]>([])

    func give(_ entry: RecordWriter.Entry) -> Bool {
        let outcome = outcome.withLock { $0 }
        if case .written = outcome { records.withLock { $0.append(entry.record) } }
        entry.done(outcome)
        return true
    }

    var receipts: [Receipt] {
        var reader = JSONReader()
        return records.withLock { records in
            records.compactMap { record in
                (record.value ?? []).withUnsafeBytes { (try? reader.parse($0)).flatMap { Receipt($0) } }
            }
        }
    }
}

@Suite("API: what phones say of pushes") struct ReceiptEndpointsTests {
    private let topic = PlayedTopic()
    private let desk: PlayedDesk

    init() throws {
        desk = try PlayedDesk(receipts: topic)
    }

    private func body(_ items: String...) -> String { #"{"receipts":[\#(items.joined(separator: ","))]}"# }

    private func item(_ kind: String = "opened", _ messageID: String = "msg-1", at: String = "2025-11-24T15:00:00Z")
        -> String
    {
        #"{"message_id":"\#(messageID)","kind":"\#(kind)","at":"\#(at)"}"#
    }

    private func post(_ body: String, as authorization: String?) -> (status: HTTPResponse.Status, body: String) {
        let answer = desk.ask("POST", "/v1/receipts", body, as: authorization)
        return (answer.status, answer.body)
    }

    @Test("a receipt is recorded by the hash of the device's address, and not again where it comes again")
    func recorded() throws {
        let credential = desk.register("fid-1", as: try desk.user("17"))
        let first = post(body(item(), item("received")), as: credential)
        #expect(first.status == .accepted && first.body.contains(#""recorded":2,"repeated":0"#), "\(first.body)")
        let again = post(body(item(), item("dismissed")), as: credential)
        #expect(again.status == .accepted && again.body.contains(#""recorded":1,"repeated":1"#), "\(again.body)")
        #expect(post(body(item()), as: credential).body.contains(#""recorded":0,"repeated":1"#))
        let device = AddressHash(of: "fid-1").hex
        #expect(topic.receipts.map(\.kind) == [.opened, .received, .dismissed])
        let said = try #require(topic.receipts.first)
        #expect(said.device == device && said.messageID == "msg-1" && said.app == "com.example.shop")
        #expect(said.platform == .fcm && said.at == Shop.now - 3_600_000)
        #expect(
            topic.records.withLock { $0.map { String(decoding: $0.key ?? [], as: UTF8.self) } } == [
                device, device, device,
            ])
    }

    @Test("only a device's own credential counts: not a key, a user, nobody, or another secret")
    func who() throws {
        let user = try desk.user("17")
        let credential = desk.register("fid-1", as: user)
        for other in [
            nil, user, String(credential.dropLast()) + (credential.hasSuffix("0") ? "1" : "0"), "Device x:y", "",
        ] {
            #expect(post(body(item()), as: other).status == .unauthorized, "\(other ?? "a key")")
        }
        #expect(desk.ask("DELETE", PlayedDesk.path, as: credential).status == .noContent)
        #expect(post(body(item()), as: credential).status == .unauthorized)
        #expect(topic.receipts.isEmpty)
    }

    @Test("a phone whose address another device has taken over says nothing of pushes any more")
    func claimed() throws {
        let credential = desk.register("fid-1", as: try desk.user("17"))
        let other = desk.ask("PUT", "/v1/devices/installation-0002", PlayedDesk.body("fid-1"), as: try desk.user("18"))
        #expect(other.status == .created)
        #expect(post(body(item()), as: credential).status == .notFound)
    }

    @Test("everything that is wrong is named at once")
    func problems() throws {
        let credential = desk.register("fid-1", as: try desk.user("17"))
        let many = post(
            body(item("read"), item(at: "yesterday"), #"{"message_id":"a b","extra":1}"#, "1"), as: credential)
        #expect(many.status == .unprocessableContent)
        for pointer in [
            "/receipts/0/kind", "/receipts/1/at", "/receipts/2/message_id", "/receipts/2/kind", "/receipts/2/at",
            "/receipts/2/extra", "/receipts/3",
        ] { #expect(many.body.contains(#""pointer":"\#(pointer)""#), "\(pointer)") }
        let late = item(at: "2025-10-01T00:00:00Z")
        let early = item(at: "2025-11-26T00:00:00Z")
        for wrong in [
            "[]", "{}", #"{"receipts":1}"#, body(), body(late), body(early),
            body(item("opened", String(repeating: "m", count: 65))),
            #"{"receipts":[\#(Array(repeating: item(), count: 101).joined(separator: ","))]}"#,
        ] { #expect(post(wrong, as: credential).status == .unprocessableContent, "\(wrong.prefix(80))") }
        #expect(post("{", as: credential).status == .badRequest && topic.receipts.isEmpty)
    }

    @Test("what Kafka does not take is said, and may be said again")
    func notWritten() throws {
        let credential = desk.register("fid-1", as: try desk.user("17"))
        let error = KafkaError(kind: .other, recovery: .retry, name: "", message: "m")
        let outcomes: [(DeliveryReport.Outcome, String)] = [
            (.notWritten(error), "not-recorded"), (.unknown(error), "outcome-unknown"),
        ]
        for (outcome, code) in outcomes {
            topic.outcome.withLock { $0 = outcome }
            let answer = post(body(item()), as: credential)
            #expect(answer.status == .serviceUnavailable && answer.body.contains(code), "\(answer.body)")
        }
        topic.outcome.withLock { $0 = .written(partition: 0, offset: 0) }
        #expect(post(body(item()), as: credential).body.contains(#""recorded":1"#))
    }
}
