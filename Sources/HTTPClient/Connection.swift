import CCurl
import CNGHTTP2

/// One connection to a server: libcurl's bytes below, nghttp2's HTTP/2 above. Used by the client's thread alone.
///
///     connecting ─► settling (TLS is up, the server's SETTINGS are waited for) ─► ready ─► draining (after a GOAWAY) ─► ended
final class Connection {
    enum State {
        case connecting
        case settling
        case ready
        /// Takes no more requests, and ends after the last one's answer.
        case draining
        case ended
    }

    /// How much is received and sent at a time.
    static let block = 65_536

    private(set) var state = State.connecting
    let origin: String
    let configuration: HTTPClientConfiguration
    unowned let client: ClientLoop
    /// When the server's SETTINGS are to be there, in nanoseconds of the monotonic clock.
    let settingsDeadline: UInt64
    private(set) var descriptor: Int32 = -1
    /// Streams without an answer.
    private(set) var active = 0
    /// Whether a request on it was answered so that others may follow.
    private var isProven: Bool
    private var lastAnswer: UInt64 = 0
    private var handle: ConnectHandle?
    private var session: OpaquePointer?
    private var outgoing: [UInt8] = []
    private var written = 0
    /// How often all that was outgoing has been written.
    private(set) var blocks = 0
    /// Whether the socket takes no more for now.
    private(set) var isBlocked = false

    init(to origin: String, _ configuration: HTTPClientConfiguration, of client: ClientLoop) throws(HTTPClientError) {
        self.origin = origin
        self.configuration = configuration
        self.client = client
        isProven = !configuration.firstAnswerOpens
        settingsDeadline = MonotonicClock.now + configuration.connectTimeout.wholeNanoseconds
        handle = try ConnectHandle(
            configuration, to: origin + "/", multi: client.multi, onSocket: client.sockets,
            context: Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { close() }

    private func close() {
        if let session { nghttp2_session_del(session) }
        session = nil
        handle = nil
    }

    // MARK: Its life

    /// libcurl has connected, or has failed to.
    func connected(_ code: CURLcode) {
        guard let handle else { return }
        guard code == CURLE_OK else {
            return end(handle.failure(code, hasProxy: client.hasProxy))
        }
        descriptor = handle.descriptor
        state = .settling
        session = HTTP2Callbacks.makeSession(self)
        let values = [
            (NGHTTP2_SETTINGS_ENABLE_PUSH, 0), (NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 4_096),
            (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, UInt32(configuration.maxHead)),
        ]
        var settings = values.map { nghttp2_settings_entry(settings_id: Int32($0.0.rawValue), value: $0.1) }
        nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), &settings, settings.count)
        // It is asked for what was agreed on, which libcurl knows after the first call.
        receive()
        flush()
    }

    /// Ends the connection, and every request on it.
    func end(_ failure: HTTPFailure) {
        if case .ended = state { return }
        let wasReady = isReady
        state = .ended
        close()
        client.ended(self, failure, wasReady: wasReady)
    }

    /// The server's first SETTINGS, and later ones.
    func gotSettings() {
        if case .settling = state { state = .ready }
    }

    func gotGoAway() {
        if case .ready = state { state = .draining }
    }

    /// Ends what has nothing left to do, and what waits for SETTINGS for too long.
    func tick(_ now: UInt64) {
        switch state {
        case .settling where now >= settingsDeadline: end(.timedOut(sent: false))
        case .draining where active == 0: end(lost("the server has ended it"))
        case .connecting, .settling, .ready, .draining, .ended: break
        }
    }

    /// Ends a connection on which nothing was answered since `time`: nothing may come through it any more.
    func endIfSilent(since time: UInt64) {
        if lastAnswer < time { end(lost("no answer came through it")) }
    }

    /// Ends a connection whose socket has not taken something that may not be sent any more.
    func endIfBlocked(_ why: String) {
        if hasUnsent { end(lost(why)) }
    }

    private func lost(_ detail: String) -> HTTPFailure {
        let detail = handle.map { $0.detail.isEmpty ? detail : $0.detail } ?? detail
        return .connectionLost(sent: isReady, detail: detail)
    }

    /// Whether it counts as one of the connections that there may be.
    var isOpen: Bool {
        switch state {
        case .connecting, .settling, .ready: true
        case .draining, .ended: false
        }
    }

    var isConnecting: Bool { if case .connecting = state { true } else { false } }

    /// Whether requests may have been given to it.
    private var isReady: Bool {
        switch state {
        case .ready, .draining: true
        case .connecting, .settling, .ended: false
        }
    }

    // MARK: Requests

    /// Whether a request may be sent on it now. Not where it would only wait in nghttp2 for the socket.
    var hasRoom: Bool {
        if case .ready = state { !isBlocked && outgoing.count < Self.block && active < mostStreams } else { false }
    }

    /// Whether another connection would be of use: every stream of this one is taken by requests.
    var isFull: Bool {
        switch state {
        case .ready: isProven && active >= mostStreams
        case .draining, .ended: true
        case .connecting, .settling: false
        }
    }

    private var mostStreams: Int {
        guard isProven else { return 1 }
        return min(
            configuration.streams,
            Int(nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)))
    }

    /// Sends a request with the next ``flush()``.
    ///
    /// - Returns: false if the connection takes no more: it drains from now on.
    func submit(_ transfer: Transfer, _ request: HTTPRequest) -> Bool {
        var body = nghttp2_data_provider()
        body.read_callback = HTTP2Callbacks.readBody
        let user = Unmanaged.passUnretained(transfer).toOpaque()
        let id = client.head.write(request, to: origin) { fields, count in
            nghttp2_submit_request(session, nil, fields, count, &body, user)
        }
        guard id > 0 else {
            state = .draining
            return false
        }
        active += 1
        transfer.sent(on: self, stream: id)
        // One request after the other: nghttp2 would send the heads of all of them first.
        if let session { fill(session) }
        return true
    }

    /// Gives up a request: the server is told.
    func reset(_ transfer: Transfer) {
        guard let session else { return }
        nghttp2_session_set_stream_user_data(session, transfer.stream, nil)
        nghttp2_submit_rst_stream(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), transfer.stream, UInt32(NGHTTP2_CANCEL.rawValue))
    }

    /// The answer of a request is longer than allowed: what is left of it is not taken.
    func refuse(_ transfer: Transfer) {
        reset(transfer)
        client.finish(transfer, .failure(.answerTooLarge))
    }

    /// The answer of a request is there.
    func answered(_ transfer: Transfer) {
        let now = MonotonicClock.now
        lastAnswer = now
        if transfer.isWholeBodySent {
            nghttp2_session_set_stream_user_data(session, transfer.stream, nil)
        } else {
            reset(transfer)
        }
        let response = transfer.response(at: now)
        if Self.proves(response.status) { isProven = true }
        client.finish(transfer, .success(response))
    }

    /// A stream has ended; with a request if that has no answer.
    func closed(_ transfer: Transfer?, code: UInt32) {
        active -= 1
        guard let transfer else { return }
        client.finish(
            transfer,
            .failure(
                code == 0
                    ? .connectionLost(sent: true, detail: "the stream ended before the answer")
                    : .http2Failed(code: code, detail: String(cString: nghttp2_http2_strerror(code)))))
    }

    /// Whether an answer shows that the server accepts the credential.
    private static func proves(_ status: Int) -> Bool {
        status < 500 && status != 401 && status != 403 && status != 429
    }

    // MARK: Bytes

    /// Whether parts of requests wait for the socket: they can no longer be taken back.
    var hasUnsent: Bool { written < outgoing.count }

    /// Reads what is there, and sends nothing.
    func receive() {
        let buffer = client.buffer
        while let handle, let session {
            let progress = handle.receive(into: buffer)
            if case .settling = state, !handle.speaksHTTP2 { return end(.notHTTP2) }
            switch progress {
            case .wait: return
            case .ended: return end(lost("the server has ended it"))
            case .moved(let count):
                let bytes = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
                guard nghttp2_session_mem_recv(session, bytes, count) >= 0 else {
                    return end(lost("the server breaks HTTP/2's rules"))
                }
            }
        }
    }

    /// Sends what is to be sent, as far as the socket takes it.
    func flush() {
        isBlocked = false
        while let handle, let session {
            guard written < outgoing.count else {
                outgoing.removeAll(keepingCapacity: true)
                written = 0
                blocks += 1
                fill(session)
                guard outgoing.isEmpty else { continue }
                if nghttp2_session_want_read(session) == 0, nghttp2_session_want_write(session) == 0 {
                    end(isReady ? lost("it has ended") : .notHTTP2)
                }
                return
            }
            guard !client.wasStopped() else { return endIfBlocked(ClientLoop.stopped) }
            let progress = outgoing.withUnsafeBytes { bytes in
                handle.send(UnsafeRawBufferPointer(rebasing: bytes[written...]))
            }
            switch progress {
            case .moved(let count): written += count
            case .wait:
                isBlocked = true
                return
            case .ended: return end(lost("it could not be written to"))
            }
        }
    }

    /// Takes the next frames from nghttp2.
    private func fill(_ session: OpaquePointer) {
        var frame: UnsafePointer<UInt8>?
        while outgoing.count < Self.block {
            let count = nghttp2_session_mem_send(session, &frame)
            guard count > 0 else { return }
            outgoing.append(contentsOf: UnsafeBufferPointer(start: frame, count: count))
        }
    }
}
