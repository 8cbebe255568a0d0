import CarillonTesting
import JSONReader
import Testing

@testable import Notifications

@Suite("To whom a dispatch record goes")
struct DispatchTargetTests {
    private static let device = String(repeating: "0a", count: 32)
    /// As the pipeline writes it (docs/rules.md §7).
    private static let message =
        #"{"device_token":"00fc13ad","environment":"development","headers":{"apns-topic":"com.example.shop","#
        + #""apns-push-type":"background"},"payload":{"aps":{"content-available":1}}}"#

    private func target(
        _ platform: String?, key: String? = device, value: String? = message, app: String? = nil,
        expiresAt: String? = "1700", messageID: String? = "msg-1-a"
    ) throws(DispatchTargetError) -> DispatchTarget {
        let memory = Memory()
        defer { withExtendedLifetime(memory) {} }
        let headers: [(DispatchHeader, String?)] = [
            (.messageID, messageID), (.platform, platform), (.expiresAt, expiresAt), (.app, app),
        ]
        var reader = JSONReader()
        return try DispatchTarget(
            key: key.map { memory.copy($0) }, value: value.map { memory.copy($0) },
            header: { name in
                headers.first { $0.0.text == name.description }.flatMap(\.1).map { memory.copy($0) }
            }, &reader)
    }

    private func error(_ body: () throws(DispatchTargetError) -> DispatchTarget) -> String? {
        do throws(DispatchTargetError) {
            _ = try body()
            return nil
        } catch {
            return error.description
        }
    }

    @Test("the app of an FCM record is its header, and its value is not looked at")
    func fcm() throws {
        let target = try target("fcm", value: "no JSON", app: "com.example.shop")
        #expect(target.messageID == "msg-1-a" && target.deviceHash == Self.device && target.expiresAt == 1_700)
        #expect(target.platform == .fcm && target.app == "com.example.shop" && target.environment == nil)
        #expect(try self.target("fcm", app: "").app == nil && self.target("fcm").app == nil)
        #expect(try self.target("fcm").environment == nil)
    }

    @Test("the app and the environment of an APNs record are in its value, whatever its header says")
    func apns() throws {
        let target = try target("apns", app: "com.example.other")
        #expect(target.platform == .apns && target.app == "com.example.shop" && target.environment == .development)
        let other = Self.message.replacing("development", with: "production")
        #expect(try self.target("apns", value: other).environment == .production)
    }

    @Test(
        "an APNs record whose value is no message has neither app nor environment: its provider refuses it",
        arguments: [nil, "", "[]", "no JSON", "{}", #"{"environment":"test","headers":{"apns-topic":""}}"#])
    func unreadable(_ value: String?) throws {
        let target = try target("apns", value: value)
        #expect(target.platform == .apns && target.app == nil && target.environment == nil)
    }

    @Test("a record without key, platform, message id or expiry is an error that names it and what is allowed")
    func errors() {
        #expect(error { () throws(DispatchTargetError) in try target("fcm") } == nil)
        #expect(
            error { () throws(DispatchTargetError) in try target("fcm", key: nil) }
                == "the key is missing, allowed are 64 hex digits in lower case")
        #expect(
            error { () throws(DispatchTargetError) in try target("fcm", key: "0A") }
                == #"the key is "0A", allowed are 64 hex digits in lower case"#)
        #expect(
            error { () throws(DispatchTargetError) in try target(nil) }
                == "the header platform is missing, allowed is fcm or apns")
        #expect(
            error { () throws(DispatchTargetError) in try target("sms") }
                == #"the header platform is "sms", allowed is fcm or apns"#)
        #expect(
            error { () throws(DispatchTargetError) in try target("fcm", expiresAt: "soon") }
                == #"the header expires-at is "soon", allowed is the milliseconds since 1970 in decimal digits"#)
        #expect(
            error { () throws(DispatchTargetError) in try target("fcm", messageID: "") }
                == #"the header message-id is "", allowed is a text that is not empty"#)
    }
}
