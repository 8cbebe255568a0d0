import Foundation
import Hosting
import KafkaClient
import Notifications
import Pipeline
import TestSupport
import Testing

@testable import Sender

@Suite("What a lane reads of a dispatch record")
struct LaneRecordReaderTests {
    /// Finds out what a lane makes of a record for FCM with this value and one more header.
    private func finding(
        value: Int, header: Int, named name: String = "order-id", filling fill: String = "h", control: String = "",
        from stream: LaneStream = .dispatch(.orders)
    ) throws -> LaneRecordReader.Finding {
        var configuration = PipelineConfiguration(kafka: [:], stateDirectory: "", rules: try ExtractionRules())
        configuration.topics.control = control
        let logger = Logger(label: "test", level: .critical)
        let context = try SenderContext(
            RoleHost(), configuration, BroadcastFollower(configuration, logger: logger, metrics: Metrics()),
            ControlFollower(configuration, logger: logger, metrics: Metrics()), start: nil,
            meter: SenderMeter(metrics: Metrics()))
        var reader = LaneRecordReader(context, .fcm)
        let texts =
            [
                String(repeating: "0", count: 64), String(repeating: "v", count: value), "message-id", "m", "platform",
                "fcm",
                "expires-at", "1", name, String(repeating: fill, count: header),
            ] + (stream.tier == nil ? [] : ["\(RetryNote.header)", RetryNote(offset: 7, attempts: 1, used: 0).text])
        let bytes = texts.map { text in
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count, alignment: 1)
            copy.copyBytes(from: text.utf8)
            return UnsafeRawBufferPointer(copy)
        }
        defer { for each in bytes { each.deallocate() } }
        let headers = stride(from: 2, to: bytes.count, by: 2).map { HeaderView(name: bytes[$0], value: bytes[$0 + 1]) }
        let record = RecordView(
            topic: "dispatch", partition: 0, offset: 7, timestamp: nil, key: bytes[0], value: bytes[1],
            headers: 0..<headers.count)
        return reader.read(record, headers, from: stream)
    }

    @Test("§13: the id of a request is read where topic.control is set", arguments: ["", "notifications.control"])
    func requestID(control: String) throws {
        for (name, isRequest) in [("request-id", true), ("order-id", false)] {
            guard case .own(let record, _) = try finding(value: 2, header: 3, named: name, control: control) else {
                Issue.record("not read")
                continue
            }
            #expect(record.requestID == (isRequest && !control.isEmpty ? Hash128("hhh") : nil))
        }
    }

    @Test(
        "§13: by which command its device was subscribed is read where topic.control is set; what is no number says none"
    )
    func command() throws {
        for (name, control, digits) in [
            ("command", "control", true), ("command", "", false), ("other", "control", false),
        ] {
            let found = try finding(value: 2, header: 3, named: name, filling: "1", control: control)
            guard case .own(let record, _) = found else {
                Issue.record("not read")
                continue
            }
            #expect(record.command == (digits ? 111 : nil))
        }
        guard case .own(let record, _) = try finding(value: 2, header: 3, named: "command", control: "control") else {
            Issue.record("not read")
            return
        }
        #expect(record.command == nil)
    }

    @Test(
        "one with more than 64 KiB of value and headers is no push: its retry and its outcome must fit into their topics"
    )
    func size() throws {
        // The names and the other values.
        let rest = "message-id".count + 1 + "platform".count + 3 + "expires-at".count + 1 + "order-id".count
        for (value, header) in [(65_536 - rest, 0), (0, 65_536 - rest), (40_000, 25_536 - rest)] {
            guard case .own(let record, nil) = try finding(value: value, header: header) else {
                Issue.record("\(value), \(header): not read")
                continue
            }
            #expect(record.value.count == value && record.headers.count == 4 && record.size == 65_536)
            // Its own note makes it no larger.
            guard case .own(record, .some) = try finding(value: value, header: header, from: .tier(.orders, 0)) else {
                Issue.record("\(value), \(header): not read again")
                continue
            }
            guard case .unreadable(let reason) = try finding(value: value, header: header + 1) else {
                Issue.record("\(value), \(header): read")
                continue
            }
            #expect(reason == "its value and headers have 65537 bytes, at most 65536 are allowed")
        }
    }
}
