import CCurl
import Glibc

/// libcurl's handle of one connection: it finds the name's addresses, goes through proxies, and does TLS with its checks.
/// Nothing of HTTP/2 is libcurl's: afterwards it only sends and receives bytes. Used by the client's thread alone.
final class ConnectHandle {
    let pointer: OpaquePointer
    private let multi: OpaquePointer
    private let errorText: UnsafeMutablePointer<CChar>
    private let onSocket: SocketObserver

    /// How a socket's end is noticed, and how many were made.
    final class SocketObserver {
        /// How long what was sent may stay unconfirmed by the server's system, in milliseconds.
        let silence: Int32
        private(set) var opened: UInt64 = 0

        init(silence: Int32) { self.silence = silence }

        fileprivate func opened(_ descriptor: Int32) {
            opened += 1
            var yes: Int32 = 1
            var silence = silence
            let size = socklen_t(MemoryLayout<Int32>.size)
            // The system notices a connection whose other side has gone: an idle one by its questions, a busy one by what
            // is not confirmed.
            setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &yes, size)
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &silence, size)
            for (option, seconds) in [(TCP_KEEPIDLE, 60), (TCP_KEEPINTVL, 15)] as [(Int32, Int32)] {
                var seconds = seconds
                setsockopt(descriptor, Int32(IPPROTO_TCP), option, &seconds, size)
            }
        }
    }

    /// Begins to connect. The multi handle's end of the transfer is that of connecting.
    ///
    /// - Parameter context: what `ccurl_context` gives; not retained.
    init(
        _ configuration: HTTPClientConfiguration, to url: String, multi: OpaquePointer, onSocket: SocketObserver,
        context: UnsafeMutableRawPointer
    ) throws(HTTPClientError) {
        guard let pointer = curl_easy_init() else { throw HTTPClientError(description: "libcurl has no memory") }
        self.pointer = pointer
        self.multi = multi
        self.onSocket = onSocket
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText[0] = 0
        guard setOptions(configuration, url, context).allSatisfy({ $0 == CURLE_OK }) else {
            throw HTTPClientError(description: "libcurl lacks an option that the client needs, such as HTTP/2")
        }
        curl_multi_add_handle(multi, pointer)
    }

    deinit {
        // Closes the connection, too.
        curl_multi_remove_handle(multi, pointer)
        curl_easy_cleanup(pointer)
        errorText.deallocate()
    }

    private func setOptions(
        _ configuration: HTTPClientConfiguration, _ url: String, _ context: UnsafeMutableRawPointer
    ) -> [CURLcode] {
        var codes = [
            ccurl_set_pointer(pointer, CURLOPT_PRIVATE, context),
            ccurl_set_pointer(pointer, CURLOPT_ERRORBUFFER, errorText),
            ccurl_set_text(pointer, CURLOPT_URL, url),
            ccurl_set_number(pointer, CURLOPT_CONNECT_ONLY, 1),
            ccurl_set_text(pointer, CURLOPT_PROTOCOLS_STR, "https"),
            // libcurl would begin HTTP/2 by itself where it knows that it was agreed on.
            ccurl_set_number(pointer, CURLOPT_SSL_ENABLE_ALPN, 0),
            ccurl_offer_http2(pointer),
            ccurl_set_number(pointer, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
            ccurl_set_number(pointer, CURLOPT_SSL_VERIFYPEER, 1),
            ccurl_set_number(pointer, CURLOPT_SSL_VERIFYHOST, 2),
            ccurl_set_number(pointer, CURLOPT_NOSIGNAL, 1),
            // Without it a connection that is given up while its host's name is looked up blocks the thread until that is
            // over.
            ccurl_set_number(pointer, CURLOPT_QUICK_EXIT, 1),
            ccurl_set_number(pointer, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1),
            ccurl_set_number(pointer, CURLOPT_BUFFERSIZE, Connection.block),
            ccurl_set_number(pointer, CURLOPT_CONNECTTIMEOUT_MS, configuration.connectTimeout.wholeMilliseconds),
            ccurl_set_open_socket(pointer, openSocket),
            ccurl_set_pointer(pointer, CURLOPT_OPENSOCKETDATA, Unmanaged.passUnretained(onSocket).toOpaque()),
        ]
        if let file = configuration.caFile {
            codes.append(ccurl_set_text(pointer, CURLOPT_CAINFO, file))
            codes.append(ccurl_set_text(pointer, CURLOPT_CAPATH, nil))
        }
        switch configuration.proxy {
        case .environment: break
        case .url(let url): codes.append(ccurl_set_text(pointer, CURLOPT_PROXY, url))
        case .none: codes.append(ccurl_set_text(pointer, CURLOPT_PROXY, ""))
        }
        return codes
    }

    /// What libcurl says about its last error; empty if nothing.
    var detail: String { String(cString: errorText) }

    /// Why it did not connect.
    ///
    /// - Parameter hasProxy: whether there may be a proxy between: who failed to connect is then taken to be the proxy.
    func failure(_ code: CURLcode, hasProxy: Bool) -> HTTPFailure {
        HTTPFailure(
            code, systemError: ccurl_system_error(pointer), verification: ccurl_verification(pointer),
            hasProxy: hasProxy, detail: detail)
    }

    /// The connection's socket, to wait for. -1 if it has none.
    var descriptor: Int32 { ccurl_socket(pointer) }

    /// Whether server and client have agreed on HTTP/2. Only after the first call of `receive`.
    var speaksHTTP2: Bool { ccurl_speaks_http2(pointer) == 1 }

    /// What a call did.
    enum Progress {
        case moved(Int)
        /// Nothing now: wait for the socket.
        case wait
        /// The other side has ended the connection, or it has failed.
        case ended
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Progress {
        var count = 0
        return progress(curl_easy_recv(pointer, buffer.baseAddress, buffer.count, &count), count)
    }

    /// After `wait` it has to be called with the same bytes at the same place.
    func send(_ bytes: UnsafeRawBufferPointer) -> Progress {
        var count = 0
        return progress(curl_easy_send(pointer, bytes.baseAddress, bytes.count, &count), count)
    }

    private func progress(_ code: CURLcode, _ count: Int) -> Progress {
        if code == CURLE_AGAIN { return .wait }
        return code == CURLE_OK && count > 0 ? .moved(count) : .ended
    }
}

// A free function: libcurl calls it on the client's thread, and no actor may own it.
private func openSocket(
    context: UnsafeMutableRawPointer?, purpose: curlsocktype, address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let context, let address else { return -1 }
    let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(address.pointee.family, type, address.pointee.protocol)
    guard descriptor >= 0 else { return -1 }
    Unmanaged<ConnectHandle.SocketObserver>.fromOpaque(context).takeUnretainedValue().opened(descriptor)
    return descriptor
}
