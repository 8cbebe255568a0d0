import Time

/// Requests to FCM's HTTP v1 API.
package struct FCMRequest: Sendable {
    package static let host = "https://fcm.googleapis.com"
    /// FCM's longest life of a message, in seconds (docs/rules.md §1.2).
    static let longestLife: Int64 = 2_419_200

    let url: String

    init(url: String) {
        self.url = url
    }

    /// - Parameter host: with the scheme, without a slash at the end; another one for tests.
    package init(projectID: String, host: String = host) {
        url = "\(host)/v1/projects/\(projectID)/messages:send"
    }

    /// The request for a dispatch record, sent now: `android.ttl` is the whole seconds that are left, everything else is
    /// as in the record, byte for byte.
    ///
    /// - Parameter expiresAt: of the record; later than `now`.
    package func request(
        _ value: UnsafeRawBufferPointer, expiresAt: WallTime, token: BearerToken, now: WallTime
    ) throws(MessageProblem) -> ProviderRequest {
        ProviderRequest(
            url: url,
            headers: [
                .init("authorization", token.header("Bearer")),
                .init("content-type", "application/json; charset=UTF-8"),
            ],
            body: try Self.body(value, seconds: Self.secondsLeft(expiresAt: expiresAt, now: now)))
    }

    /// Whole seconds, rounded down. In the last second it is 0: now or never.
    static func secondsLeft(expiresAt: WallTime, now: WallTime) -> Int64 {
        min(max(expiresAt - now, 0) / 1_000, longestLife)
    }

    /// The value with another `message.android.ttl`. One without is given it: FCM's default is four weeks.
    static func body(_ value: UnsafeRawBufferPointer, seconds: Int64) throws(MessageProblem) -> [UInt8] {
        let scanner = JSONScanner(text: value)
        guard let message = scanner.value(at: ["message"]) else { throw .unreadableRecord }
        let members = scanner.members(of: message)
        guard !members.isEmpty else { throw .unreadableRecord }
        if let android = scanner.value(of: "android", in: members) {
            guard value[android.lowerBound] == UInt8(ascii: "{") else { throw .unreadableRecord }
            let settings = scanner.members(of: android)
            if let ttl = scanner.value(of: "ttl", in: settings) {
                return replacing(ttl, of: value, with: "\"\(seconds)s\"")
            }
            let start = android.lowerBound + 1
            return replacing(
                start..<start, of: value, with: "\"ttl\":\"\(seconds)s\"\(settings.isEmpty ? "" : ",")")
        }
        let start = message.lowerBound + 1
        return replacing(start..<start, of: value, with: "\"android\":{\"ttl\":\"\(seconds)s\"},")
    }

    private static func replacing(_ range: Range<Int>, of value: UnsafeRawBufferPointer, with text: String) -> [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(value.count + text.utf8.count)
        body += value[..<range.lowerBound]
        body += text.utf8
        body += value[range.upperBound...]
        return body
    }
}
