/// How many requests a key may send: so many a second, and `burst` of them at once.
package struct KeyTokenBucket: Sendable {
    package let rate: Int
    package let burst: Int
    /// Of the last request.
    private var left: Double
    private var milliseconds: Int64?

    package init(rate: Int) {
        self.rate = rate
        burst = 2 * rate
        left = Double(burst)
    }

    /// Takes one request. Time that goes back counts as none.
    ///
    /// - Returns: false if none is left.
    package mutating func take(at milliseconds: Int64) -> Bool {
        let passed = max(0, milliseconds - (self.milliseconds ?? milliseconds))
        self.milliseconds = max(milliseconds, self.milliseconds ?? milliseconds)
        left = min(Double(burst), left + Double(passed) * Double(rate) / 1000)
        guard left >= 1 else { return false }
        left -= 1
        return true
    }

    /// draft-ietf-httpapi-ratelimit-headers-10, and after a refusal `Retry-After`.
    ///
    /// - Parameter chance: from 0 to 1: those who are refused together do not come back together.
    package func headers(isRefused: Bool, chance: Double) -> [(name: String, value: String)] {
        let window = burst / rate
        let reset = Int(((Double(burst) - left) / Double(rate)).rounded(.up))
        var headers = [
            (name: "RateLimit-Policy", value: #""key";q=\#(burst);w=\#(window)"#),
            (name: "RateLimit", value: #""key";r=\#(Int(left));t=\#(reset)"#),
        ]
        if isRefused {
            headers.append(("Retry-After", "\(Int((Double(max(1, reset)) * (1 + 0.2 * chance)).rounded(.up)))"))
        }
        return headers
    }
}
