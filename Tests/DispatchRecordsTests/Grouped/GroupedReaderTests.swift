import StageSupport
import Testing

@testable import DispatchRecords
@testable import Events

@Suite("Reading grouped records")
struct GroupedReaderTests {
    private static let hash = String(repeating: "0a", count: 32)
    private static let entry = #"{"hash":"\#(hash)","token":"t"}"#

    private func error(
        _ value: String, devices: String = "1", platform: String? = "fcm"
    ) -> GroupedRecordError? {
        #expect(throws: GroupedRecordError.self) {
            _ = try PlainRecord(value: value, headers: [("platform", platform), ("devices", devices)]).expanded()
        }
    }

    @Test("a record without the header is passed as it is, whatever its value is")
    func single() throws {
        let record = PlainRecord(value: #"{"devices":[]}"#, headers: [("platform", "fcm"), ("devices", nil)])
        #expect(try record.expanded() == [record])
    }

    @Test("a device's record has the headers in their order, without the number of devices")
    func headers() throws {
        let record = PlainRecord(
            value: #"{"devices":[\#(Self.entry)],"message":{"data":{}}}"#,
            headers: [("message-id", "m"), ("platform", "fcm"), ("devices", "1"), ("x", nil)])
        #expect(
            try record.expanded() == [
                PlainRecord(
                    key: Self.hash, value: #"{"message":{"token":"t","data":{}}}"#,
                    headers: [("message-id", "m"), ("platform", "fcm"), ("x", nil)])
            ])
    }

    @Test("a token stays escaped as it is")
    func escaped() throws {
        let token = #"a\"b\\"#
        let record = PlainRecord(
            value: #"{"devices":[{"hash":"\#(Self.hash)","token":"\#(token)"}],"environment":"production"}"#,
            headers: [("platform", "apns"), ("devices", "1")])
        #expect(
            try record.expanded().map(\.value) == [#"{"device_token":"\#(token)","environment":"production"}"#])
    }

    @Test("what is no grouped record is an error that says where")
    func unreadable() {
        let start = #"{"devices":["#
        let list = start + Self.entry + "]"
        #expect(error("") == .value(at: 0))
        #expect(error(#"{"message":{"token":"t"}}"#) == .value(at: 0))
        #expect(error(start + "]") == .value(at: start.utf8.count))
        #expect(error(start + Self.entry) == .value(at: start.utf8.count + Self.entry.utf8.count))
        #expect(error(list + #","environment":"production"}"#) == .value(at: list.utf8.count - 1))
        #expect(error(list + #","message":{"#) == .value(at: list.utf8.count + #","message":{"#.utf8.count))
        #expect(error(start + #"{"hash":"abc","token":"t"}]"#) == .value(at: start.utf8.count + 9))
        #expect(error(start + #"{"hash":"\#(Self.hash)","token":""}]"#) != nil)
        #expect(error(start + #"{"hash":"\#(Self.hash)","token":"t\"#) != nil)
    }

    @Test("the header must say how many devices the list has, and of which platform")
    func wrongHeaders() {
        let value = #"{"devices":[\#(Self.entry)],"message":{"data":{}}}"#
        #expect(error(value, devices: "2") == .count(said: 2, found: 1))
        #expect(error(value, devices: "0") == .header(DispatchRecordError(.devices, value: "0")))
        #expect(error(value, platform: nil) == .header(DispatchRecordError(.platform, found: nil)))
    }

    @Test("nothing is handed out of a record whose last device is unreadable")
    func wholeOrNothing() throws {
        var reader = GroupedReader()
        let record = PlainRecord(
            value: #"{"devices":[\#(Self.entry),{"hash":"x"}],"message":{"data":{}}}"#,
            headers: [("platform", "fcm"), ("devices", "2")])
        var count = 0
        #expect(throws: GroupedRecordError.self) {
            try record.withRecord { try reader.forEachDevice(of: $0) { _ in count += 1 } }
        }
        #expect(count == 0)
    }
}

extension DispatchRecordError {
    /// Of a header that has a value.
    fileprivate init(_ header: DispatchHeader, value: String) {
        var value = value
        self = value.withUTF8 { DispatchRecordError(header, found: UnsafeRawBufferPointer($0)) }
    }
}
