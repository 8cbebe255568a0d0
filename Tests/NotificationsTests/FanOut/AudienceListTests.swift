import Testing

@testable import Notifications

@Suite("The audiences of a batch")
struct AudienceListTests {
    @Test("each is listed once, however often and in whatever order it repeats, and every batch starts empty")
    func once() {
        var list = AudienceList()
        for batch in 0..<3 {
            list.removeAll()
            // Enough to make the index grow in the middle.
            let places = (0..<9_000).map { $0 * 7 % 3_000 + batch }
            for (notification, place) in places.enumerated() {
                list.append("place/\(place)", for: notification)
            }
            #expect(list.count == 3_000)
            #expect(list.links.count == 9_000)
            #expect(zip(list.links, places).allSatisfy { list[$0.audience] == "place/\($1)" })
        }
    }
}
