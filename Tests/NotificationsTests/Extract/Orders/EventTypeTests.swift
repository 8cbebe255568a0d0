import NotificationPayload
import Testing

@testable import Notifications

@Suite("Types of events")
struct EventTypeTests {
    private func type(_ name: String) -> EventType? {
        Array(name.utf8).withUnsafeBytes { EventType(upstreamName: $0) }
    }

    @Test("every type is read from each of its names, and written as its raw value", arguments: EventType.allCases)
    func names(of type: EventType) {
        #expect(String(decoding: type.name, as: UTF8.self) == type.rawValue)
        let name = type.rawValue.dropFirst("event_".count)
        #expect(type.rawValue.hasPrefix("event_") && name == name.lowercased())
        for written in [
            name.uppercased(), type.rawValue, type.rawValue.uppercased(), String(name),
            "com.example." + name.replacing("_", with: ".") + ".v2",
        ] {
            #expect(self.type(written) == type, "\(written)")
        }
        #expect(self.type(name.uppercased() + "S") == nil)
    }
}
