import Testing

@testable import Notifications

@Suite("A fold that lacks its beginning is incomplete until it is two horizons long (ADR 34)")
struct FoldBeginningTests {
    private static let newest = FoldDriver.morning

    private func beginning(at offset: Int64, first: Int64, committed: Int64 = 900, newest: WallTime = Self.newest)
        -> FoldBeginning
    {
        FoldBeginning(at: offset, first: first, committed: committed, newest: newest)
    }

    @Test("a log that was never cut, or that begins before the two horizons, has all of it")
    func whole() {
        #expect(beginning(at: 0, first: 0) == .complete)
        #expect(beginning(at: 500, first: 0) == .complete)
        #expect(beginning(at: 500, first: 499) == .complete)
        #expect(beginning(at: 0, first: 0, committed: 0, newest: 0) == .complete)
    }

    @Test("one that begins within the two horizons lacks what was before its first record")
    func cut() {
        #expect(beginning(at: 500, first: 500) == .sinceNextRecord)
        #expect(beginning(at: 500, first: 500, newest: 0) == .sinceNextRecord)
        #expect(beginning(at: 500, first: 500, committed: 500, newest: 0) == .sinceNextRecord)
    }

    @Test("what retention removes between the two questions counts as well")
    func cutBetween() {
        #expect(beginning(at: 500, first: 510) == .sinceNextRecord)
    }

    @Test("where nothing is left to fold, what is missing is no newer than the newest record")
    func nothingLeft() {
        #expect(beginning(at: 900, first: 900) == .since(Self.newest))
        #expect(beginning(at: 950, first: 950) == .since(Self.newest))
    }

    @Test("it is complete with the record that comes two horizons after its first one")
    func length() {
        #expect(!FoldBeginning.complete.isIncomplete(newest: 0, horizon: 100))
        #expect(FoldBeginning.sinceNextRecord.isIncomplete(newest: .distantFuture, horizon: 100))
        #expect(FoldBeginning.since(1_000).isIncomplete(newest: 1_199, horizon: 100))
        #expect(!FoldBeginning.since(1_000).isIncomplete(newest: 1_200, horizon: 100))
    }

    @Test("a partition that was quiet until retention had taken its records is no news; one that was cut is")
    func telling() {
        func isWorthTelling(_ beginning: FoldBeginning, newest: WallTime, now: WallTime) -> Bool {
            beginning.isWorthTelling(newest: newest, now: now, horizon: 100)
        }
        #expect(!isWorthTelling(.since(1_000), newest: 1_000, now: 1_200))
        #expect(isWorthTelling(.since(1_000), newest: 1_000, now: 1_199))
        #expect(isWorthTelling(.since(1_000), newest: 1_001, now: 9_000))
        #expect(!isWorthTelling(.since(1_000), newest: 1_200, now: 0))
        #expect(isWorthTelling(.sinceNextRecord, newest: 0, now: 9_000))
        #expect(!isWorthTelling(.complete, newest: 0, now: 0))
    }
}
