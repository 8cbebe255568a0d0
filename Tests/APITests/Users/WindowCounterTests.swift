import Testing
import Time

@testable import API

@Suite("API: what a name may do within a time") struct WindowCounterTests {
    private let now = WallTime(milliseconds: 1_764_000_000_000)

    @Test("so often within the minute, then again after it; a name does not count for another")
    func minute() {
        var counter = WindowCounter(most: 2, within: .seconds(60))
        for _ in 0..<2 {
            #expect(counter.isBelow("a", at: now))
            counter.count("a", at: now)
        }
        #expect(!counter.isBelow("a", at: now + 59_999) && counter.isBelow("b", at: now))
        #expect(counter.isBelow("a", at: now + 60_000))
        counter.count("a", at: now + 60_000)
        #expect(counter.isBelow("a", at: now + 60_000))
        counter.count("a", at: now + 60_000)
        #expect(!counter.isBelow("a", at: now + 60_000))
    }

    @Test("names are bounded: with too many of them all are forgotten")
    func bounded() {
        var counter = WindowCounter(most: 1, within: .seconds(60))
        counter.count("a", at: now)
        for number in 0..<99_999 { counter.count("\(number)", at: now) }
        #expect(!counter.isBelow("a", at: now))
        counter.count("one more", at: now)
        #expect(counter.isBelow("a", at: now))
    }
}
