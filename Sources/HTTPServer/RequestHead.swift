import CMicrohttpd
import Glibc

/// What libmicrohttpd has read of a request before its body, and whether it can be trusted.
///
/// libmicrohttpd 0.9.75 takes the first of two lengths, joins a folded line to the *name* of its header, skips blanks after the
/// method, and ends a line at a bare LF or a NUL. A proxy before it may see another request in the same bytes. Such heads are
/// refused. It overwrites the ends of lines, so that NUL LF cannot be told from CR LF: that a proxy has to refuse.
struct RequestHead {
    var request: IncomingRequest
    var isVersion10: Bool
    /// Of everything up to the body, as it came.
    var size: Int
    /// Whether each line begins where the one before it ends with two bytes, and nothing was left out or moved.
    var isInPlace: Bool

    /// Whether a body follows.
    var hasBody: Bool {
        request.headers.contains { $0.name == "transfer-encoding" || $0.name == "content-length" && $0.value != "0" }
    }

    /// nil where the length is not said before.
    var bodySize: UInt64? { request.header("content-length").flatMap { UInt64($0) } }

    func problem(_ limits: HTTPLimits) -> HTTPRefusal? {
        if request.target.utf8.count > limits.targetBytes { return .targetTooLong(atMost: limits.targetBytes) }
        if size > limits.headBytes { return .headTooLarge(atMost: limits.headBytes) }
        if !isInPlace {
            return .malformed("a line of the head is folded, has a NUL, or does not end with CR and LF")
        }
        var lengths = 0
        var hosts = 0
        var encodings = 0
        for header in request.headers {
            guard header.name.isHTTPToken else {
                return .malformed("a header's name has a character that is not allowed")
            }
            guard header.value.utf8.allSatisfy({ $0 == 0x09 || $0 > 0x1F && $0 != 0x7F }) else {
                return .malformed("the header \(header.name) has a control character")
            }
            if header.name == "host" { hosts += 1 }
            if header.name == "content-length" { lengths += 1 }
            if header.name == "transfer-encoding" {
                encodings += 1
                guard Array(header.value.utf8).map(\.lowercasedASCII) == Array("chunked".utf8), !isVersion10 else {
                    return .malformed("Transfer-Encoding is not as it should be; allowed is chunked, in HTTP/1.1")
                }
            }
        }
        if lengths + encodings > 1 { return .malformed("the length of the body is said more than once") }
        if hosts > 1 { return .malformed("the header host is there more than once") }
        return nil
    }
}

extension RequestHead {
    init(
        _ connection: OpaquePointer, _ method: UnsafePointer<CChar>, _ target: String, _ targetSize: Int,
        _ version: UnsafePointer<CChar>
    ) {
        isVersion10 = String(cString: version) == "HTTP/1.0"
        size = cmicrohttpd_head_size(connection)
        var lines = HeadLines(next: version + strlen(version) + 2)
        _ = withUnsafeMutablePointer(to: &lines) { lines in
            MHD_get_connection_values_n(connection, .HEADER_KIND, addHeader, lines)
        }
        request = IncomingRequest(method: String(cString: method), target: target)
        request.headers = lines.headers
        request.peer = ClientAddress.text(cmicrohttpd_address(connection))
        isInPlace =
            lines.areInPlace && version == method + strlen(method) + 1 + targetSize + 1
            && lines.next + 2 == method + size
    }
}

/// The headers in the order in which they came; name and value are where they came in.
private struct HeadLines {
    var headers: [IncomingRequest.Header] = []
    /// Where the next line begins if every line ends as it should.
    var next: UnsafePointer<CChar>
    var areInPlace = true
}

private func addHeader(
    context: UnsafeMutableRawPointer?, kind: MHD_ValueKind, name: UnsafePointer<CChar>?, nameSize: Int,
    value: UnsafePointer<CChar>?, valueSize: Int
) -> MHD_Result {
    guard let context, let name, let value else { return .NO }
    let lines = context.assumingMemoryBound(to: HeadLines.self)
    // Only letters of ASCII: others would become them.
    let lowered = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: nameSize) { buffer in
        for index in 0..<nameSize { buffer[index] = UInt8(bitPattern: name[index]).lowercasedASCII }
        return String(decoding: buffer, as: UTF8.self)
    }
    lines.pointee.headers.append(IncomingRequest.Header(lowered, String(cString: value)))
    if name != lines.pointee.next { lines.pointee.areInPlace = false }
    lines.pointee.next = value + valueSize + 2
    return .YES
}

extension UInt8 {
    fileprivate var lowercasedASCII: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}
