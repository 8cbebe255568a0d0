import CNGHTTP2

/// Writes the head of a request as nghttp2 takes it. Its memory is used again; one owner.
struct RequestHead: ~Copyable {
    private var text: UnsafeMutableRawBufferPointer
    private var fields: [nghttp2_nv] = []
    private var end = 0

    init() { text = .allocate(byteCount: 4_096, alignment: 1) }

    deinit { text.deallocate() }

    /// Hands over the fields of a POST.
    ///
    /// - Parameters:
    ///   - origin: the beginning of the request's address.
    ///   - use: their memory is valid until it returns.
    mutating func write<Result>(
        _ request: HTTPRequest, to origin: String, _ use: (UnsafePointer<nghttp2_nv>?, Int) -> Result
    ) -> Result {
        reserve(request)
        end = 0
        fields.removeAll(keepingCapacity: true)
        append(":method", "POST")
        append(":scheme", "https")
        let authority = origin.utf8.dropFirst(HTTPAddress.scheme.utf8.count)
        append(":authority", Substring(authority))
        let path = Substring(request.url.utf8.dropFirst(origin.utf8.count))
        append(":path", path.utf8.first == UInt8(ascii: "/") ? path : "/" + path)
        for header in request.headers { append(header.name, header.value[...]) }
        append("content-length", Substring(String(request.body.count)))
        return fields.withUnsafeBufferPointer { use($0.baseAddress, $0.count) }
    }

    private mutating func reserve(_ request: HTTPRequest) {
        var bytes = 128 + 2 * request.url.utf8.count
        for header in request.headers { bytes += header.name.utf8.count + header.value.utf8.count }
        guard bytes > text.count else { return }
        text.deallocate()
        text = .allocate(byteCount: bytes * 2, alignment: 1)
    }

    private mutating func append(_ name: String, _ value: Substring) {
        let (start, middle) = (end, end + name.utf8.count)
        copy(name[...])
        copy(value)
        guard let base = text.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
        fields.append(
            nghttp2_nv(
                name: base + start, value: base + middle, namelen: middle - start, valuelen: end - middle,
                flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)))
    }

    private mutating func copy(_ value: Substring) {
        var value = value
        value.withUTF8 { bytes in
            UnsafeMutableRawBufferPointer(rebasing: text[end...]).copyMemory(from: UnsafeRawBufferPointer(bytes))
            end += bytes.count
        }
    }
}

/// What a request must be to be sent.
enum HTTPAddress {
    static let scheme = "https://"

    /// The scheme, host and port of an address; nil if it has none.
    static func origin(of url: String) -> String? {
        guard url.hasPrefix(scheme), !url.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else { return nil }
        let authority = url.utf8.dropFirst(scheme.utf8.count).prefix { !"/?#".utf8.contains($0) }
        guard !authority.isEmpty, !authority.contains(UInt8(ascii: "@")) else { return nil }
        let port = authority.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).dropFirst().last
        // An address of IPv6 in brackets has colons of its own.
        if let port, authority.last != UInt8(ascii: "]") {
            guard let text = Substring(port).isEmpty ? nil : UInt16(Substring(port)), text > 0 else { return nil }
        }
        return scheme + String(Substring(authority))
    }

    /// Whether an address that can be sent to begins with this origin.
    static func isAt(_ url: String, _ origin: String) -> Bool {
        let count = origin.utf8.count
        guard url.utf8.count > count, url.utf8.starts(with: origin.utf8) else { return false }
        let rest = url.utf8.dropFirst(count)
        return rest.first == UInt8(ascii: "/") && !rest.contains { $0 <= 0x20 || $0 == 0x7F }
    }

    /// The name of the first header that cannot be sent.
    static func unusable(_ headers: [HTTPHeader]) -> String? {
        headers.first { header in
            header.name.isEmpty || !header.name.utf8.allSatisfy(isAllowedInName)
                || !header.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
        }?.name
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
