/// A request that was taken from the queue, and its answer; used for one request after the other. Used by the client's
/// thread alone.
final class Transfer {
    /// nil between two requests.
    private(set) var request: HTTPRequest?
    /// In nanoseconds of the monotonic clock.
    private(set) var startedAt: UInt64 = 0
    /// When its answer, and when the server, is to have all of it. `.max` between two requests.
    private(set) var endsAt = UInt64.max
    private(set) var sendBy = UInt64.max
    /// When it is to be given to a connection, since it was made for that time.
    private var startBy = UInt64.max
    /// Where it was sent; nil while it waits for a connection.
    private(set) var connection: Connection?
    private(set) var stream: Int32 = 0
    private var bodySent = 0
    /// Of its connection's blocks the one with its last bytes.
    private var lastBlock = 0

    private var status = 0
    /// Of all heads of the answer, as RFC 9113 counts them (§6.5.2).
    private var headSize = 0
    private var headers: [HTTPHeader] = []
    private var body: [UInt8] = []

    /// - Parameters:
    ///   - timeout: nanoseconds until its answer is to be there.
    ///   - longestWait: nanoseconds from its making until it is to be given to a connection.
    ///   - instant: the same time as `time`.
    func begin(
        _ request: HTTPRequest, at time: UInt64, within timeout: UInt64, longestWait: UInt64,
        instant: ContinuousClock.Instant
    ) {
        self.request = request
        startedAt = time
        endsAt = time + timeout
        if let limit = request.sendBy {
            sendBy = time + min(max(limit - instant, .zero), .seconds(86_400)).wholeNanoseconds
        }
        if let madeAt = request.madeAt {
            startBy = time + longestWait - min((instant - madeAt).wholeNanoseconds, longestWait)
        }
    }

    /// The next time at which something may have taken too long.
    func nextExpiry(after now: UInt64) -> UInt64 { sendBy > now ? min(sendBy, endsAt) : endsAt }

    /// Whether nothing more of it may be sent.
    var isLate: Bool { MonotonicClock.now >= sendBy }

    /// Whether it may not be given to a connection any more.
    var hasWaitedTooLong: Bool { MonotonicClock.now >= min(sendBy, startBy) }

    /// It is given to a connection that is ready.
    func sent(on connection: Connection, stream: Int32) {
        self.connection = connection
        self.stream = stream
    }

    /// Whether the server may have all of it.
    var isSent: Bool { connection != nil && isWholeBodySent }

    /// Whether all of it is written, and may be among what the socket has not taken: it cannot be taken back alone.
    var isStuck: Bool { isSent && connection.map { $0.hasUnsent && $0.blocks == lastBlock } ?? false }

    /// Gives the request back, and is free for the next one.
    func end() -> HTTPRequest? {
        defer {
            request = nil
            connection = nil
            endsAt = .max
            sendBy = .max
            startBy = .max
            bodySent = 0
            status = 0
            headSize = 0
            beginHead()
        }
        return request
    }

    /// Copies the next part of the request's body.
    ///
    /// - Returns: how many bytes, and whether they are the last ones.
    func copyBody(to buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isEnd: Bool) {
        guard let all = request?.body else { return (0, true) }
        let count = min(buffer.count, all.count - bodySent)
        all.withUnsafeBytes { bytes in
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[bodySent..<(bodySent + count)]))
        }
        bodySent += count
        lastBlock = connection?.blocks ?? 0
        return (count, isWholeBodySent)
    }

    var isWholeBodySent: Bool { bodySent == request?.body.count }

    // MARK: The answer

    /// Headers begin: of an answer, which one with a status below 200 may precede, or behind its body.
    func beginHead() {
        guard status < 200 else { return }
        status = 0
        headers.removeAll(keepingCapacity: true)
        body = []
    }

    func received(status bytes: UnsafeRawBufferPointer) {
        status = bytes.reduce(0) { $0 &* 10 &+ Int($1 &- UInt8(ascii: "0")) }
    }

    /// Keeps the first value of a name that is no longer than the limit.
    func received(header name: String, _ value: UnsafeRawBufferPointer, limit: Int) {
        guard value.count <= limit, !headers.contains(where: { $0.name == name }) else { return }
        headers.append(HTTPHeader(name, String(decoding: value, as: UTF8.self)))
    }

    /// A field of any head of the answer: also of one with a status below 200, and behind the body.
    ///
    /// - Returns: false if they are longer than the limit, all together.
    func received(fieldOf count: Int, limit: Int) -> Bool {
        headSize += count + 32
        return headSize <= limit
    }

    /// - Returns: false if the body is longer than the limit.
    func received(body bytes: UnsafeRawBufferPointer, limit: Int) -> Bool {
        guard body.count + bytes.count <= limit else { return false }
        body += bytes
        return true
    }

    func response(at time: UInt64) -> HTTPResponse {
        HTTPResponse(status: status, headers: headers, body: body, duration: .nanoseconds(Int64(time - startedAt)))
    }
}
