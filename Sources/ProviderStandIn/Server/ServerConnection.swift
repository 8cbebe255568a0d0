import CNGHTTP2
import CTLS
import Glibc

/// A connection of a server: TLS below, HTTP/2 above, or HTTP/1.1 where that was agreed on. Used by the server's thread alone.
final class ServerConnection {
    let descriptor: Int32
    let number: UInt64
    private unowned let loop: ServerLoop
    private let tls: OpaquePointer
    private var session: OpaquePointer?
    /// Instead of the session.
    private var plain: HTTP1Reader?
    private var outgoing: [UInt8] = []
    private var written = 0
    private(set) var isStalled = false
    private(set) var isEnded = false
    private var isFinished = false
    private var requests = 0
    /// The last stream that is processed, as the GOAWAY says.
    private var lastStream = Int32.max
    /// The highest stream that was processed. Streams may end in another order than they began.
    private var highest: Int32 = 0
    private var streams: [Int32: ServerStream] = [:]
    /// When answers that were put off are due, in nanoseconds of the monotonic clock; `.max` is never.
    private var waiting: [(due: UInt64, stream: Int32, answer: StandInAnswer)] = []

    init(_ descriptor: Int32, _ tls: OpaquePointer, number: UInt64, loop: ServerLoop) {
        self.descriptor = descriptor
        self.tls = tls
        self.number = number
        self.loop = loop
    }

    deinit {
        end()
    }

    var events: Int16 {
        Int16(POLLIN) | (written < outgoing.count || SSL_want(tls) == SSL_WRITING ? Int16(POLLOUT) : 0)
    }

    var nextDue: UInt64? {
        waiting.min { $0.due < $1.due }.flatMap { $0.due == .max ? nil : $0.due }
    }

    func end(byReset: Bool = false) {
        guard !isEnded else { return }
        isEnded = true
        waiting = []
        if byReset {
            var abrupt = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &abrupt, socklen_t(MemoryLayout<linger>.size))
        }
        if let session { nghttp2_session_del(session) }
        session = nil
        SSL_free(tls)
        close(descriptor)
    }

    /// Reads and writes what can be read and written now.
    func progress() {
        guard !isEnded, !isStalled else { return }
        if isFinished { return discard() }
        if session == nil, plain == nil {
            ERR_clear_error()
            let code = SSL_accept(tls)
            guard code == 1 else {
                if !mayGoOn(code) {
                    loop.shared.state.withLock { $0.counts.handshakesFailed += 1 }
                    end()
                }
                return
            }
            if ctls_speaks_http1(tls) == 1 { plain = HTTP1Reader() } else { start() }
        }
        receive()
        send()
    }

    private func mayGoOn(_ code: Int32) -> Bool {
        let error = SSL_get_error(tls, code)
        return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE
    }

    private func start() {
        var callbacks: OpaquePointer?
        nghttp2_session_callbacks_new(&callbacks)
        defer { nghttp2_session_callbacks_del(callbacks) }
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, beganHeaders)
        nghttp2_session_callbacks_set_on_header_callback(callbacks, receivedHeader)
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, receivedData)
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, receivedFrame)
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, closedStream)
        var options: OpaquePointer?
        nghttp2_option_new(&options)
        defer { nghttp2_option_del(options) }
        // libcurl 7.88 resets the stream of an answer that does not say its length, also where it has ended; by itself
        // nghttp2 ends a connection with more than 1,000 of them.
        nghttp2_option_set_stream_reset_rate_limit(options, 1 << 32, 1 << 32)
        // A hostile server's heads are longer than nghttp2 sends by itself.
        nghttp2_option_set_max_send_header_block_length(options, 1 << 30)
        nghttp2_session_server_new2(&session, callbacks, Unmanaged.passUnretained(self).toOpaque(), options)
        submitSettings(loop.shared.state.withLock { $0.faults })
    }

    func submitSettings(_ faults: ConnectionFaults) {
        guard let session, !isEnded else { return }
        var settings = [
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: faults.streams),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue), value: faults.window),
        ]
        nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), &settings, settings.count)
        send()
    }

    private func receive() {
        withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 16) { buffer in
            while !isEnded, !isStalled, !isFinished {
                ERR_clear_error()
                let count = SSL_read(tls, buffer.baseAddress, Int32(buffer.count))
                guard count > 0 else {
                    if !mayGoOn(count) { end() }
                    return
                }
                if plain != nil {
                    readPlain(UnsafeRawBufferPointer(rebasing: buffer[..<Int(count)]))
                    continue
                }
                let bytes = buffer.baseAddress!.assumingMemoryBound(to: UInt8.self)
                guard let session, nghttp2_session_mem_recv(session, bytes, Int(count)) >= 0 else {
                    if !isEnded { end() }
                    return
                }
                if mustReset { end(byReset: true) }
            }
        }
    }

    private func send() {
        guard !isEnded, !isStalled, !isFinished else { return }
        while true {
            while let session, outgoing.count - written < 65_536 {
                var frame: UnsafePointer<UInt8>?
                let count = nghttp2_session_mem_send(session, &frame)
                guard count > 0 else { break }
                outgoing.append(contentsOf: UnsafeBufferPointer(start: frame, count: count))
            }
            guard written < outgoing.count else { break }
            ERR_clear_error()
            let count = outgoing.withUnsafeBytes { bytes in
                SSL_write(tls, bytes.baseAddress! + written, Int32(bytes.count - written))
            }
            guard count > 0 else {
                if !mayGoOn(count) { end() }
                return
            }
            written += Int(count)
            guard written == outgoing.count else { continue }
            outgoing.removeAll(keepingCapacity: true)
            written = 0
        }
        if let session, nghttp2_session_want_read(session) == 0, nghttp2_session_want_write(session) == 0 { finish() }
    }

    /// Ends after the client has: to close now, with something of the client's unread, would be a reset, which takes
    /// back what it has not read yet.
    private func finish() {
        guard !isFinished else { return }
        isFinished = true
        SSL_shutdown(tls)
        shutdown(descriptor, Int32(SHUT_WR))
    }

    private func discard() {
        withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 16) { buffer in
            while true {
                let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
                if count > 0 { continue }
                if count == 0 || errno != EAGAIN { end() }
                return
            }
        }
    }

    /// Set inside nghttp2's callbacks, where its session may not be deleted.
    private var mustReset = false
}

// MARK: Requests and answers

extension ServerConnection {
    fileprivate func began(_ id: Int32) {
        streams[id] = ServerStream(connection: number)
    }

    fileprivate func stream(_ id: Int32) -> ServerStream? { streams[id] }

    fileprivate func closed(_ id: Int32, code: UInt32) {
        if code == NGHTTP2_CANCEL.rawValue { loop.shared.state.withLock { $0.counts.cancelled += 1 } }
        streams[id] = nil
        waiting.removeAll { $0.stream == id }
    }

    fileprivate func received(_ id: Int32) {
        guard let stream = streams[id], id <= lastStream, !mustReset, !isStalled else { return }
        requests += 1
        highest = max(highest, id)
        let open = streams.count
        let (faults, total) = loop.shared.state.withLock { state in
            state.counts.requests += 1
            state.counts.mostStreams = max(state.counts.mostStreams, open)
            return (state.faults, state.counts.requests)
        }
        if number <= UInt64(clamping: faults.connections) {
            if let every = faults.resetEvery, total % every == 0 { mustReset = true }
            if let last = faults.stallAfter, requests > last { isStalled = true }
            if mustReset || isStalled { return }
            if requests == faults.goAwayAfter {
                lastStream = highest
                nghttp2_submit_goaway(
                    session, UInt8(NGHTTP2_FLAG_NONE.rawValue), highest, UInt32(NGHTTP2_NO_ERROR.rawValue), nil, 0)
            }
        }
        stream.request.openStreams = open
        submit(loop.handler(stream.request), to: id)
    }

    private func submit(_ answer: StandInAnswer, to id: Int32) {
        switch answer.course {
        case .now: respond(answer, to: id)
        case .after(let time): waiting.append((MonotonicClock.now + time.wholeNanoseconds, id, answer))
        case .never: waiting.append((.max, id, answer))
        case .resetStream where plain != nil: mustReset = true
        case .resetStream(let code):
            nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, code)
        case .resetConnection: mustReset = true
        }
    }

    /// Answers what is due until then.
    func answerDue(at time: UInt64) {
        guard !waiting.isEmpty, !isEnded else { return }
        let due = waiting.filter { $0.due <= time }
        guard !due.isEmpty else { return }
        waiting.removeAll { $0.due <= time }
        for item in due { respond(item.answer, to: item.stream) }
        send()
    }

    /// Answers in turn: such a client waits for each, so its stream is 0.
    private func readPlain(_ bytes: UnsafeRawBufferPointer) {
        plain?.append(bytes)
        do throws(StandInError) {
            while let request = try plain?.next(connection: number), !mustReset {
                submit(loop.handler(request), to: 0)
            }
            if mustReset { end(byReset: true) }
        } catch {
            end()
        }
    }

    private func respond(_ answer: StandInAnswer, to id: Int32) {
        if plain != nil {
            outgoing += HTTP1Reader.bytes(of: answer)
            return
        }
        guard let session, let stream = streams[id] else { return }
        stream.body = answer.body
        var head = [(":status", String(answer.status))] + answer.headers
        if !loop.omitsLength { head.append(("content-length", String(answer.body.count))) }
        var bytes: [UInt8] = []
        var ends: [Int] = []
        for (name, value) in head {
            bytes += name.utf8
            ends.append(bytes.count)
            bytes += value.utf8
            ends.append(bytes.count)
        }
        bytes.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return }
            let lines = stride(from: 0, to: ends.count, by: 2).map { index in
                let first = index == 0 ? 0 : ends[index - 1]
                return nghttp2_nv(
                    name: start + first, value: start + ends[index], namelen: ends[index] - first,
                    valuelen: ends[index + 1] - ends[index], flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue))
            }
            var provider = nghttp2_data_provider()
            provider.source.ptr = Unmanaged.passUnretained(stream).toOpaque()
            provider.read_callback = readBody
            if answer.body.isEmpty {
                nghttp2_submit_response(session, id, lines, lines.count, nil)
            } else {
                nghttp2_submit_response(session, id, lines, lines.count, &provider)
            }
        }
    }
}

/// A request that is being received, or answered.
final class ServerStream {
    var request: StandInRequest
    fileprivate var body: [UInt8] = []
    private var sent = 0

    init(connection: UInt64) {
        request = StandInRequest(connection: connection)
    }

    fileprivate func read(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isEnd: Bool) {
        let count = min(buffer.count, body.count - sent)
        buffer.copyBytes(from: body[sent..<(sent + count)])
        sent += count
        return (count, sent == body.count)
    }
}

// MARK: nghttp2's callbacks

private func connection(_ context: UnsafeMutableRawPointer?) -> ServerConnection? {
    context.map { Unmanaged<ServerConnection>.fromOpaque($0).takeUnretainedValue() }
}

private func beganHeaders(
    session: OpaquePointer?, frame: UnsafePointer<nghttp2_frame>?, context: UnsafeMutableRawPointer?
) -> Int32 {
    if let frame { connection(context)?.began(frame.pointee.hd.stream_id) }
    return 0
}

private func receivedHeader(
    session: OpaquePointer?, frame: UnsafePointer<nghttp2_frame>?, name: UnsafePointer<UInt8>?, nameCount: Int,
    value: UnsafePointer<UInt8>?, valueCount: Int, flags: UInt8, context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame, let stream = connection(context)?.stream(frame.pointee.hd.stream_id) else { return 0 }
    let name = String(decoding: UnsafeBufferPointer(start: name, count: nameCount), as: UTF8.self)
    let value = String(decoding: UnsafeBufferPointer(start: value, count: valueCount), as: UTF8.self)
    switch name {
    case ":method": stream.request.method = value
    case ":path": stream.request.path = value
    case _ where name.hasPrefix(":"): break
    default: stream.request.headers.append((name, value))
    }
    return 0
}

private func receivedData(
    session: OpaquePointer?, flags: UInt8, id: Int32, bytes: UnsafePointer<UInt8>?, count: Int,
    context: UnsafeMutableRawPointer?
) -> Int32 {
    let bytes = UnsafeBufferPointer(start: bytes, count: count)
    connection(context)?.stream(id)?.request.body.append(contentsOf: bytes)
    return 0
}

private func receivedFrame(
    session: OpaquePointer?, frame: UnsafePointer<nghttp2_frame>?, context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame else { return 0 }
    let head = frame.pointee.hd
    let isRequest =
        UInt32(head.type) == NGHTTP2_DATA.rawValue || UInt32(head.type) == NGHTTP2_HEADERS.rawValue
    if isRequest, UInt32(head.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 {
        connection(context)?.received(head.stream_id)
    }
    return 0
}

private func closedStream(
    session: OpaquePointer?, id: Int32, code: UInt32, context: UnsafeMutableRawPointer?
) -> Int32 {
    connection(context)?.closed(id, code: code)
    return 0
}

private func readBody(
    session: OpaquePointer?, id: Int32, buffer: UnsafeMutablePointer<UInt8>?, size: Int,
    flags: UnsafeMutablePointer<UInt32>?, source: UnsafeMutablePointer<nghttp2_data_source>?,
    context: UnsafeMutableRawPointer?
) -> Int {
    guard let source, let flags else { return 0 }
    let stream = Unmanaged<ServerStream>.fromOpaque(source.pointee.ptr).takeUnretainedValue()
    let (count, isEnd) = stream.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
    if isEnd { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return count
}

extension Duration {
    var wholeNanoseconds: UInt64 {
        UInt64(clamping: components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000)
    }
}
