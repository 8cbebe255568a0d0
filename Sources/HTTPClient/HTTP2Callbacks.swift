import CNGHTTP2

/// What nghttp2 asks and tells while bytes are received and sent.
enum HTTP2Callbacks {
    /// A client's session for this connection, which has to outlive it.
    static func makeSession(_ connection: Connection) -> OpaquePointer? {
        var callbacks: OpaquePointer?
        nghttp2_session_callbacks_new(&callbacks)
        defer { nghttp2_session_callbacks_del(callbacks) }
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, beganHeaders)
        nghttp2_session_callbacks_set_on_header_callback(callbacks, receivedHeader)
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, receivedData)
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, receivedFrame)
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, closedStream)
        var session: OpaquePointer?
        nghttp2_session_client_new(&session, callbacks, Unmanaged.passUnretained(connection).toOpaque())
        return session
    }

    /// A part of a request's body.
    static let readBody: nghttp2_data_source_read_callback = { session, stream, buffer, size, flags, _, _ in
        // What is too late is reset soon: the client's thread looks after it has received.
        guard let transfer = transfer(session, stream), let flags, !transfer.isLate else {
            return Int(NGHTTP2_ERR_DEFERRED.rawValue)
        }
        let (count, isEnd) = transfer.copyBody(to: UnsafeMutableRawBufferPointer(start: buffer, count: size))
        if isEnd { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return count
    }

    /// Nil for a request that has its result.
    fileprivate static func transfer(_ session: OpaquePointer?, _ stream: Int32) -> Transfer? {
        nghttp2_session_get_stream_user_data(session, stream).map {
            Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue()
        }
    }

    fileprivate static func connection(_ context: UnsafeMutableRawPointer?) -> Connection? {
        context.map { Unmanaged<Connection>.fromOpaque($0).takeUnretainedValue() }
    }
}

// Free functions: nghttp2 calls them on the client's thread, and no actor may own them.

private func beganHeaders(
    session: OpaquePointer?, frame: UnsafePointer<nghttp2_frame>?, context: UnsafeMutableRawPointer?
) -> Int32 {
    if let frame { HTTP2Callbacks.transfer(session, frame.pointee.hd.stream_id)?.beginHead() }
    return 0
}

private func receivedHeader(
    session: OpaquePointer?, frame: UnsafePointer<nghttp2_frame>?, name: UnsafePointer<UInt8>?, nameCount: Int,
    value: UnsafePointer<UInt8>?, valueCount: Int, flags: UInt8, context: UnsafeMutableRawPointer?
) -> Int32 {
    let name = UnsafeRawBufferPointer(start: name, count: nameCount)
    guard let frame, let first = name.first, let connection = HTTP2Callbacks.connection(context),
        let transfer = HTTP2Callbacks.transfer(session, frame.pointee.hd.stream_id)
    else { return 0 }
    let value = UnsafeRawBufferPointer(start: value, count: valueCount)
    guard transfer.received(fieldOf: nameCount + valueCount, limit: connection.configuration.maxHead) else {
        connection.refuse(transfer)
        return 0
    }
    if first == UInt8(ascii: ":") {
        transfer.received(status: value)
    } else if let kept = connection.client.keptHeader(name) {
        transfer.received(header: kept, value, limit: connection.configuration.maxHeader)
    }
    return 0
}

private func receivedData(
    session: OpaquePointer?, flags: UInt8, stream: Int32, bytes: UnsafePointer<UInt8>?, count: Int,
    context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let transfer = HTTP2Callbacks.transfer(session, stream), let connection = HTTP2Callbacks.connection(context),
        !transfer.received(
            body: UnsafeRawBufferPointer(start: bytes, count: count), limit: connection.configuration.maxBody)
    else { return 0 }
    connection.refuse(transfer)
    return 0
}

private func receivedFrame(
    session: OpaquePointer?, frame: UnsafePointer<nghttp2_frame>?, context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame, let connection = HTTP2Callbacks.connection(context) else { return 0 }
    let head = frame.pointee.hd
    switch UInt32(head.type) {
    case NGHTTP2_SETTINGS.rawValue where UInt32(head.flags) & NGHTTP2_FLAG_ACK.rawValue == 0: connection.gotSettings()
    case NGHTTP2_GOAWAY.rawValue: connection.gotGoAway()
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
        guard UInt32(head.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 else { break }
        HTTP2Callbacks.transfer(session, head.stream_id).map(connection.answered)
    default: break
    }
    return 0
}

private func closedStream(
    session: OpaquePointer?, stream: Int32, code: UInt32, context: UnsafeMutableRawPointer?
) -> Int32 {
    HTTP2Callbacks.connection(context)?.closed(HTTP2Callbacks.transfer(session, stream), code: code)
    return 0
}
