import CCurl
import Glibc

/// A handle of libcurl with the memory of its request and its answer; used for one request after the other.
///
/// Used by the client's thread alone, also in libcurl's callbacks.
final class Transfer {
    let handle: OpaquePointer
    private unowned let loop: ClientLoop
    private let keptHeaders: [[UInt8]]
    private let maxBody: Int

    private(set) var request: HTTPRequest?
    private(set) var startedAt: UInt64 = 0
    /// The connection that the request was given to; 0 if none.
    private(set) var connection: UInt64 = 0
    private(set) var turns = 0
    /// Not sent: its connection is to carry one request only for now.
    private(set) var isHeld = false
    /// Its time to be sent has passed.
    private(set) var isTooLate = false
    private var status = 0
    private(set) var isHTTP2 = false
    private var isTooLarge = false
    private var headers: [HTTPHeader] = []
    private var body: [UInt8] = []

    /// libcurl reads headers and body here until the transfer has ended.
    private var memory: UnsafeMutableRawBufferPointer
    private var nodes: UnsafeMutableBufferPointer<curl_slist>
    private let errorText: UnsafeMutablePointer<CChar>
    private var lastURL = ""

    init(_ configuration: HTTPClientConfiguration, loop: ClientLoop) throws(HTTPClientError) {
        guard let handle = curl_easy_init() else { throw HTTPClientError(description: "libcurl has no memory") }
        self.handle = handle
        self.loop = loop
        keptHeaders = configuration.keptHeaders.map { Array($0.utf8) }
        maxBody = configuration.maxBody
        memory = .allocate(byteCount: 8_192, alignment: 1)
        nodes = .allocate(capacity: 16)
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText[0] = 0
        let codes = setOptions(configuration)
        guard codes.allSatisfy({ $0 == CURLE_OK }) else {
            throw HTTPClientError(description: "libcurl lacks an option that the client needs, such as HTTP/2")
        }
    }

    deinit {
        curl_easy_cleanup(handle)
        memory.deallocate()
        nodes.deallocate()
        errorText.deallocate()
    }

    private func setOptions(_ configuration: HTTPClientConfiguration) -> [CURLcode] {
        let context = Unmanaged.passUnretained(self).toOpaque()
        let loopContext = Unmanaged.passUnretained(loop).toOpaque()
        var codes = [
            ccurl_set_pointer(handle, CURLOPT_PRIVATE, context),
            ccurl_set_pointer(handle, CURLOPT_ERRORBUFFER, errorText),
            ccurl_set_number(handle, CURLOPT_POST, 1),
            ccurl_set_text(handle, CURLOPT_PROTOCOLS_STR, "https"),
            ccurl_set_number(handle, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS)),
            ccurl_set_number(handle, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
            ccurl_set_number(handle, CURLOPT_SSL_VERIFYPEER, 1),
            ccurl_set_number(handle, CURLOPT_SSL_VERIFYHOST, 2),
            // Waits for a connection that is being made, instead of making one for each request.
            ccurl_set_number(handle, CURLOPT_PIPEWAIT, 1),
            ccurl_set_number(handle, CURLOPT_NOSIGNAL, 1),
            // Without it a request that ends while its host's name is looked up blocks the thread until that is over.
            ccurl_set_number(handle, CURLOPT_QUICK_EXIT, 1),
            ccurl_set_number(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1),
            // An idle connection is used again for an hour: APNs wants lasting ones (push-rules §2.1).
            ccurl_set_number(handle, CURLOPT_MAXAGE_CONN, 3_600),
            ccurl_set_number(handle, CURLOPT_TIMEOUT_MS, configuration.timeout.wholeMilliseconds),
            ccurl_set_number(handle, CURLOPT_CONNECTTIMEOUT_MS, configuration.connectTimeout.wholeMilliseconds),
            ccurl_set_receiver(handle, CURLOPT_WRITEFUNCTION, receiveBody),
            ccurl_set_pointer(handle, CURLOPT_WRITEDATA, context),
            ccurl_set_receiver(handle, CURLOPT_HEADERFUNCTION, receiveHeader),
            ccurl_set_pointer(handle, CURLOPT_HEADERDATA, context),
            ccurl_set_prerequest(handle, beforeRequest),
            ccurl_set_pointer(handle, CURLOPT_PREREQDATA, context),
            ccurl_set_open_socket(handle, openSocket),
            ccurl_set_pointer(handle, CURLOPT_OPENSOCKETDATA, loopContext),
            ccurl_set_close_socket(handle, closeSocket),
            ccurl_set_pointer(handle, CURLOPT_CLOSESOCKETDATA, loopContext),
        ]
        if let file = configuration.caFile {
            codes.append(ccurl_set_text(handle, CURLOPT_CAINFO, file))
            codes.append(ccurl_set_text(handle, CURLOPT_CAPATH, nil))
        }
        switch configuration.proxy {
        case .environment: break
        case .url(let url): codes.append(ccurl_set_text(handle, CURLOPT_PROXY, url))
        case .none: codes.append(ccurl_set_text(handle, CURLOPT_PROXY, ""))
        }
        return codes
    }

    /// Makes the handle ready to be added; nil if it is.
    func prepare(_ request: HTTPRequest, at time: UInt64) -> HTTPFailure? {
        reset(request, at: time)
        if request.url != lastURL {
            guard request.url.hasPrefix("https://"), !request.url.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F })
            else { return .invalidRequest(detail: "the address does not begin with https:// or has a space in it") }
            guard ccurl_set_text(handle, CURLOPT_URL, request.url) == CURLE_OK else {
                return .invalidRequest(detail: "the address is too long")
            }
            lastURL = request.url
        }
        if let name = write(request) {
            return .invalidRequest(detail: "the header \(name) has a character that no header may have")
        }
        return nil
    }

    private func reset(_ request: HTTPRequest, at time: UInt64) {
        self.request = request
        startedAt = time
        connection = 0
        turns = 0
        isHeld = false
        isTooLate = false
        errorText[0] = 0
        resetAnswer()
    }

    private func resetAnswer() {
        status = 0
        isHTTP2 = false
        isTooLarge = false
        headers.removeAll(keepingCapacity: true)
        body = []
    }

    /// Gives the request back; the handle is free for the next one.
    func takeRequest() -> HTTPRequest? {
        defer { request = nil }
        return request
    }

    /// Why libcurl ended the transfer; empty if it does not say.
    var detail: String { String(cString: errorText) }

    var hasTooLargeBody: Bool { isTooLarge }

    func takeResponse(at time: UInt64) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: headers, body: body, duration: .nanoseconds(Int64(time - startedAt)))
    }
}

// MARK: The request's bytes

extension Transfer {
    /// libcurl adds these by itself unless it gets an empty one.
    private static let suppressed = ["accept", "content-type"]

    /// Writes headers and body to memory that stays where it is. Returns the name of a header that cannot be sent.
    private func write(_ request: HTTPRequest) -> String? {
        let suppressed = Self.suppressed.filter { name in !request.headers.contains { $0.name == name } }
        reserve(request, suppressed)
        var end = 0
        var count = 0
        for header in request.headers {
            guard let next = write(header, at: end) else { return header.name }
            append(line: end, at: &count)
            end = next
        }
        for name in suppressed {
            let start = end
            end = write(name, at: end)
            memory[end] = UInt8(ascii: ":")
            memory[end + 1] = 0
            end += 2
            append(line: start, at: &count)
        }
        request.body.withUnsafeBytes { memory[end...].copyBytes(from: $0) }
        let start = count == 0 ? nil : nodes.baseAddress
        _ = ccurl_set_headers(handle, start)
        _ = ccurl_set_body(handle, memory.baseAddress! + end, request.body.count)
        return nil
    }

    private func reserve(_ request: HTTPRequest, _ suppressed: [String]) {
        var bytes = request.body.count
        for header in request.headers { bytes += header.name.utf8.count + header.value.utf8.count + 3 }
        for name in suppressed { bytes += name.utf8.count + 2 }
        if bytes >= memory.count {
            memory.deallocate()
            memory = .allocate(byteCount: bytes * 2, alignment: 1)
        }
        let lines = request.headers.count + suppressed.count
        if lines > nodes.count {
            nodes.deallocate()
            nodes = .allocate(capacity: lines * 2)
        }
    }

    /// `name: value`, or `name;` for an empty value; nil if a character is not allowed.
    private func write(_ header: HTTPHeader, at start: Int) -> Int? {
        guard !header.name.isEmpty, header.name.utf8.allSatisfy(Self.isAllowedInName),
            header.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
        else { return nil }
        var end = write(header.name, at: start)
        if header.value.isEmpty {
            memory[end] = UInt8(ascii: ";")
            end += 1
        } else {
            memory[end] = UInt8(ascii: ":")
            memory[end + 1] = UInt8(ascii: " ")
            end = write(header.value, at: end + 2)
        }
        memory[end] = 0
        return end + 1
    }

    private func write(_ text: String, at start: Int) -> Int {
        var text = text
        return text.withUTF8 { bytes in
            memory[start...].copyBytes(from: bytes)
            return start + bytes.count
        }
    }

    private func append(line start: Int, at count: inout Int) {
        let text = (memory.baseAddress! + start).assumingMemoryBound(to: CChar.self)
        nodes.initializeElement(at: count, to: curl_slist(data: text, next: nil))
        if count > 0 { nodes[count - 1].next = nodes.baseAddress! + count }
        count += 1
    }

    private static func isAllowedInName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}

// MARK: What libcurl reports

extension Transfer {
    /// Whether libcurl may send the request now, on the connection with this local port.
    fileprivate func mayBeSent(port: Int32) -> Bool {
        if turns == 0, let startBy = request?.startBy, .now > startBy {
            isTooLate = true
            return false
        }
        turns += 1
        // libcurl sends a request again, by itself, where a connection that was used before ended without an answer.
        guard turns == 1 else { return false }
        connection = loop.connection(port: port)
        isHeld = !loop.admits(self)
        return !isHeld
    }

    fileprivate func received(header line: UnsafeRawBufferPointer) {
        // A line that begins an answer: HTTP/2 200
        if line.count >= 5, line.prefix(5).elementsEqual("HTTP/".utf8) {
            resetAnswer()
            let fields = line.split(separator: UInt8(ascii: " "))
            isHTTP2 = fields.first.map { $0.elementsEqual("HTTP/2".utf8) } ?? false
            if fields.count > 1 {
                status = fields[1].prefix(3).reduce(0) { $0 * 10 + Int($1 &- UInt8(ascii: "0")) }
            }
            return
        }
        guard !keptHeaders.isEmpty, let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
        for name in keptHeaders where name.count == colon {
            guard zip(name, line).allSatisfy({ $0 == $1 | 0x20 || $0 == $1 }) else { continue }
            let value = line[(colon + 1)...].drop { $0 == 0x20 }
            let end = value.lastIndex { $0 > 0x20 }.map { $0 + 1 } ?? value.startIndex
            let text = String(decoding: value[value.startIndex..<max(end, value.startIndex)], as: UTF8.self)
            headers.append(HTTPHeader(String(decoding: name, as: UTF8.self), text))
        }
    }

    fileprivate func received(body bytes: UnsafeRawBufferPointer) -> Bool {
        guard body.count + bytes.count <= maxBody else {
            isTooLarge = true
            return false
        }
        body.append(contentsOf: bytes)
        return true
    }
}

// Free functions: libcurl calls them on the client's thread, and no actor may own them.

private func receiveBody(
    bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
    guard let context else { return 0 }
    let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    return transfer.received(body: UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
}

private func receiveHeader(
    bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
    guard let context else { return 0 }
    let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    transfer.received(header: UnsafeRawBufferPointer(start: bytes, count: size * count))
    return size * count
}

private func beforeRequest(
    context: UnsafeMutableRawPointer?, remoteAddress: UnsafeMutablePointer<CChar>?,
    localAddress: UnsafeMutablePointer<CChar>?, remotePort: Int32, localPort: Int32
) -> Int32 {
    guard let context else { return CURL_PREREQFUNC_ABORT }
    let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    return transfer.mayBeSent(port: localPort) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

private func openSocket(
    context: UnsafeMutableRawPointer?, purpose: curlsocktype, address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let context, let address else { return -1 }
    let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(address.pointee.family, type, address.pointee.protocol)
    guard descriptor >= 0 else { return -1 }
    Unmanaged<ClientLoop>.fromOpaque(context).takeUnretainedValue().opened(descriptor)
    return descriptor
}

private func closeSocket(context: UnsafeMutableRawPointer?, descriptor: curl_socket_t) -> Int32 {
    if let context { Unmanaged<ClientLoop>.fromOpaque(context).takeUnretainedValue().closed(descriptor) }
    return close(descriptor)
}
