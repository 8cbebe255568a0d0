import Testing

@testable import Notifications

@Suite("An audience")
struct AudienceTests {
    private func kind(_ text: String) -> Audience? {
        Array(text.utf8).withUnsafeBytes { Audience(of: $0) }
    }

    private static let hash = String(repeating: "0a", count: 32)

    @Test("§8.2: is of a place, a user, a channel or a device, with an id that is not empty")
    func kinds() {
        #expect(kind("place/42") == .place && kind("user/17") == .user && kind("channel/a/b") == .channel)
        #expect(kind("device/" + Self.hash) == .device)
        for text in ["", "place", "place/", "team/7", "Place/42", " place/42", "user/", "channel/"] {
            #expect(kind(text) == nil, "\(text)")
        }
    }

    @Test("§8.2: a device is 64 hex digits in lower case")
    func device() {
        for id in ["", "0a", Self.hash.uppercased(), Self.hash + "0", String(Self.hash.dropLast()) + "g"] {
            #expect(kind("device/" + id) == nil, "\(id)")
        }
    }

    @Test("§8.2: has at most 1,024 bytes and no control character")
    func limits() {
        #expect(kind("user/" + String(repeating: "é", count: 509) + "x") == .user)
        #expect(kind("user/" + String(repeating: "é", count: 510)) == nil)
        #expect(kind("user/a\nb") == nil && kind("user/a\u{7F}") == nil)
    }
}
