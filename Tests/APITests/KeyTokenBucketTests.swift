import Testing

@testable import API

@Suite("API: how much a key may send") struct KeyTokenBucketTests {
    @Test("twice the rate at once, then the rate, and never more than twice the rate after a pause")
    func rate() {
        var bucket = KeyTokenBucket(rate: 10)
        func taken(at milliseconds: Int64) -> Int {
            var count = 0
            while bucket.take(at: milliseconds) { count += 1 }
            return count
        }
        #expect(taken(at: 1000) == 20)
        #expect(taken(at: 1099) == 0)
        #expect(taken(at: 1100) == 1)
        #expect(taken(at: 2100) == 10)
        #expect(taken(at: 90_000) == 20)
    }

    @Test("a clock that goes back gives nothing, and takes nothing that comes after")
    func clock() {
        var bucket = KeyTokenBucket(rate: 1)
        let taken = [10_000, 10_000, 5_000, 10_999, 11_000].map { bucket.take(at: $0) }
        #expect(taken == [true, true, false, false, true])
    }

    @Test("the headers tell policy and rest, and a refusal when to come back, not all at the same time")
    func headers() {
        var bucket = KeyTokenBucket(rate: 10)
        func header(_ name: String, _ chance: Double? = nil) -> String? {
            bucket.headers(isRefused: chance != nil, chance: chance ?? 0).first { $0.name == name }?.value
        }
        _ = bucket.take(at: 0)
        #expect(header("RateLimit-Policy") == #""key";q=20;w=2"#)
        #expect(header("RateLimit") == #""key";r=19;t=1"#)
        #expect(header("Retry-After") == nil)
        while bucket.take(at: 0) {}
        #expect(header("RateLimit") == #""key";r=0;t=2"#)
        #expect(header("Retry-After", 0) == "2")
        #expect(header("Retry-After", 1) == "3")
    }
}
