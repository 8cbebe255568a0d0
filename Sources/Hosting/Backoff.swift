/// The wait before the next attempt: 100 ms, doubled each time, at most 10 s.
package struct Backoff {
    private var attempts = 0

    package init() {}

    package mutating func next() -> Duration {
        attempts += 1
        return min(.seconds(10), .milliseconds(100) * (1 << min(attempts - 1, 7)))
    }

    package mutating func reset() { attempts = 0 }
}
