import Notifications
import Testing

@testable import Pipeline

/// docs/rules.md §13
@Suite("What notifications.control withdraws")
struct WithdrawalTests {
    private static let day: Int64 = 86_400_000
    private static let start: WallTime = 1_751_875_337_000
    private let phone = AddressHash(of: "token-a")

    private typealias Record = (address: AddressHash, command: Int64, audiences: [String]?, at: WallTime)

    /// - Parameter back: the command of which the withdrawal is taken back at last.
    private func fold(
        most: Int = ControlFold.mostWithdrawn, _ records: [Record], takingBack back: Int64? = nil
    ) -> ControlView {
        var fold = ControlFold(mostCancelled: 10, mostWithdrawn: most)
        for record in records {
            let key = ControlKey.address(record.address, command: record.command)
            fold.take(
                key: Array(key.text.utf8), value: WithdrawalEntry.json(of: record.audiences), at: record.at)
        }
        if let back {
            fold.take(key: Array(ControlKey.address(phone, command: back).text.utf8), value: nil, at: Self.start)
        }
        return fold.view
    }

    private func isWithdrawn(
        _ audience: String, by command: Int64?, appended: WallTime? = nil, at now: WallTime = start,
        of address: AddressHash? = nil, in view: ControlView
    ) -> Bool {
        view.withdrawn.covers(
            address: (address ?? phone).hex, command: command, appended: appended, lag: 60_000, at: now
        ) { Hash128(audience) }
    }

    @Test("a push is withdrawn whose device was subscribed by an older command, for one of the audiences")
    func older() {
        let view = fold([(phone, 7, ["user/17", "place/1"], Self.start)])
        #expect(isWithdrawn("user/17", by: 6, in: view) && isWithdrawn("place/1", by: 0, in: view))
        // It was subscribed again since, or by the same command, such as another login's.
        #expect(!isWithdrawn("user/17", by: 8, in: view) && !isWithdrawn("user/17", by: 7, in: view))
        #expect(!isWithdrawn("user/18", by: 6, in: view) && !isWithdrawn("channel/offers", by: 6, in: view))
        #expect(!isWithdrawn("user/17", by: 6, of: AddressHash(of: "token-b"), in: view))
        #expect(view.withdrawn.count == 1 && view.ignored == 0)
    }

    @Test("it does not matter when the push was written: a pipeline's table may lag")
    func written() {
        let view = fold([(phone, 7, ["user/17"], Self.start)])
        #expect(isWithdrawn("user/17", by: 6, appended: Self.start + Self.day, in: view))
        #expect(!isWithdrawn("user/17", by: 8, appended: Self.start - Self.day, in: view))
    }

    @Test("everything of an address is withdrawn where no audiences are named, and nothing by an empty list")
    func everything() {
        let view = fold([(phone, 7, nil, Self.start), (AddressHash(of: "token-b"), 8, [], Self.start)])
        #expect(isWithdrawn("channel/offers", by: 6, in: view) && !isWithdrawn("channel/offers", by: 7, in: view))
        #expect(!isWithdrawn("user/17", by: 6, of: AddressHash(of: "token-b"), in: view))
    }

    @Test("a device that no command has subscribed loses what was written until a minute after")
    func withoutCommand() {
        let view = fold([(phone, 7, nil, Self.start)])
        #expect(isWithdrawn("place/1", by: nil, appended: Self.start + 60_000, in: view))
        #expect(!isWithdrawn("place/1", by: nil, appended: Self.start + 60_001, in: view))
        #expect(isWithdrawn("place/1", by: nil, appended: nil, in: view))
    }

    @Test("several of an address hold beside each other, each for 28 days; a null value takes one back")
    func several() {
        let records: [Record] = [
            (phone, 7, ["user/17"], Self.start), (phone, 9, ["user/18"], Self.start + Self.day),
        ]
        let view = fold(records)
        let last = Self.start + 28 * Self.day
        #expect(isWithdrawn("user/17", by: 6, at: last - 1, in: view))
        #expect(!isWithdrawn("user/17", by: 6, at: last, in: view) && isWithdrawn("user/18", by: 6, at: last, in: view))
        let left = fold(records, takingBack: 9)
        #expect(!isWithdrawn("user/18", by: 6, in: left) && isWithdrawn("user/17", by: 6, in: left))
    }

    @Test("what a later record is 28 days younger than leaves the memory")
    func expired() {
        let view = fold([
            (AddressHash(of: "token-b"), 6, nil, Self.start), (phone, 7, nil, Self.start + 28 * Self.day),
        ])
        #expect(view.withdrawn.count == 1)
    }

    @Test(
        "at the limit, which counts withdrawals and their audiences, the oldest leave; of one address the newest stay")
    func bounded() {
        let many = (0..<50).map { ($0, AddressHash(of: "token-\($0)")) }
        let view = fold(most: 20, many.map { ($1, Int64($0), ["user/17"], Self.start) })
        #expect(view.withdrawn.count == 10 && view.ignored == 40)
        let own = fold((0..<500).map { (phone, Int64($0), ["user/\($0)"], Self.start) })
        #expect(!isWithdrawn("user/399", by: 0, in: own) && isWithdrawn("user/400", by: 0, in: own))
        // What has left counts no more.
        let left = fold(most: 300, (0..<10_000).map { (phone, Int64($0), ["user/\($0)"], Self.start) })
        #expect(isWithdrawn("user/9900", by: 0, in: left) && isWithdrawn("user/9999", by: 0, in: left))
    }

    @Test("a key and a value of another form are counted, and say nothing")
    func foreign() {
        var fold = ControlFold()
        for (key, value) in [
            ("address/\(phone.hex)", "{\"version\":1}"), ("address/\(phone.hex)/-1", "{\"version\":1}"),
            ("address/\(phone.hex.uppercased())/1", "{\"version\":1}"), ("address/\(phone.hex)/1", "{\"version\":2}"),
            ("address/\(phone.hex)/1", "{\"version\":1,\"audiences_sha256\":[\"user/17\"]}"),
            ("address/\(phone.hex)/1", "{\"version\":1,\"audiences_sha256\":null}"),
        ] {
            fold.take(key: Array(key.utf8), value: Array(value.utf8), at: Self.start)
        }
        #expect(fold.view.ignored == 6 && fold.view.withdrawn.count == 0)
    }

    @Test("what the registrar writes is read back")
    func record() throws {
        let key = try #require(ControlKey(Array(ControlKey.address(phone, command: 4_711).text.utf8)))
        #expect(key == .address(phone, command: 4_711))
        let view = fold([(phone, 1, ["place/\"a\"", "user/ü"], Self.start)])
        #expect(isWithdrawn("place/\"a\"", by: 0, in: view) && isWithdrawn("user/ü", by: 0, in: view))
    }
}
