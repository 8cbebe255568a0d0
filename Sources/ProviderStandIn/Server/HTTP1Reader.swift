/// Requests by HTTP/1.1, as clients of a JSON API send them: with `content-length` or without a body.
struct HTTP1Reader {
    private static let endOfHead = Array("\r\n\r\n".utf8)

    private var bytes: [UInt8] = []

    mutating func append(_ more: UnsafeRawBufferPointer) { bytes += more }

    /// The next request that is there as a whole, without its `connection` counted.
    ///
    /// - Throws: ``StandInError`` if it is none.
    mutating func next(connection: UInt64) throws(StandInError) -> StandInRequest? {
        guard let end = bytes.firstRange(of: Self.endOfHead) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3, words[2] == "HTTP/1.1" else { throw StandInError("no request of HTTP/1.1") }
        var request = StandInRequest(connection: connection)
        request.method = String(words[0])
        request.path = String(words[1])
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { throw StandInError("a header without a colon") }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            request.headers.append((line[..<colon].lowercased(), String(value)))
        }
        let count = request[header: "content-length"].map { Int($0) ?? -1 } ?? 0
        guard count >= 0 else { throw StandInError("a content-length that is no number") }
        guard bytes.count - end.upperBound >= count else { return nil }
        request.body = Array(bytes[end.upperBound..<(end.upperBound + count)])
        bytes.removeFirst(end.upperBound + count)
        return request
    }

    static func bytes(of answer: StandInAnswer) -> [UInt8] {
        var head = "HTTP/1.1 \(answer.status) \r\ncontent-length: \(answer.body.count)\r\n"
        for (name, value) in answer.headers { head += "\(name): \(value)\r\n" }
        return Array((head + "\r\n").utf8) + answer.body
    }
}
