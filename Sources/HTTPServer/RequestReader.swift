import CMicrohttpd
import Glibc

/// Reads one request and sends its answer. Only the server's thread uses it.
final class RequestReader {
    private enum Progress {
        case head
        case body(atMost: Int, answer: @Sendable (IncomingRequest) -> HTTPReply)
        /// What is left of the body is read and forgotten: libmicrohttpd takes no answer before its end.
        case refused(HTTPResponse)
        case waiting(HTTPExchange)
    }

    private let server: ServerState
    private let target: String
    private let targetSize: Int
    private var request: IncomingRequest?
    private var progress = Progress.head
    private var isUnderWay = false
    /// libmicrohttpd ends a line of chunks at a bare LF, where a proxy may not: nothing after them is read.
    private var isLast = false

    /// - Parameter target: as it came.
    init(_ server: ServerState, target: UnsafePointer<CChar>?) {
        self.server = server
        self.target = target.map { String(cString: $0) } ?? ""
        targetSize = target.map { strlen($0) } ?? 0
    }

    /// libmicrohttpd has something of the request: its head, a part of its body, or the end of it.
    func advance(
        _ connection: OpaquePointer, method: UnsafePointer<CChar>, version: UnsafePointer<CChar>,
        part: UnsafeBufferPointer<CChar>
    ) -> MHD_Result {
        switch progress {
        case .head:
            return begin(RequestHead(connection, method, target, targetSize, version), connection)
        case .body(let limit, let answer):
            guard part.isEmpty else {
                read(part, atMost: limit)
                return .YES
            }
            return reply(answer, connection)
        case .refused(let response):
            return part.isEmpty ? send(response, connection) : .YES
        case .waiting(let exchange):
            return advance(exchange, connection)
        }
    }

    /// The answer is over, also where it could not be sent.
    func end() {
        forget()
        if isUnderWay { server.underWay.leave() }
    }

    private func begin(_ head: RequestHead, _ connection: OpaquePointer) -> MHD_Result {
        isLast = head.request.headers.contains { $0.name == "transfer-encoding" }
        // Before the look: whoever drains waits for what is not refused.
        server.underWay.enter()
        isUnderWay = true
        if server.isDraining { return send(server.handler.response(to: .draining), connection) }
        // An answer that is sent here closes the connection.
        if let problem = head.problem(server.limits) { return send(server.handler.response(to: problem), connection) }
        switch server.handler.admit(head.request) {
        case .refuse(let response):
            if head.hasBody { return send(response, connection) }
            progress = .refused(response)
        case .read(let limit, let answer):
            if let size = head.bodySize, size > limit {
                return send(server.handler.response(to: .bodyTooLarge(atMost: limit)), connection)
            }
            progress = .body(atMost: limit, answer: answer)
        }
        request = head.request
        server.connections.enter(.body, cmicrohttpd_descriptor(connection))
        return .YES
    }

    private func read(_ part: UnsafeBufferPointer<CChar>, atMost limit: Int) {
        guard let size = request?.body.count, size + part.count <= limit else {
            return refuse(.bodyTooLarge(atMost: limit))
        }
        guard server.bodies + part.count <= server.limits.bodiesBytes else { return refuse(.overloaded) }
        server.bodies += part.count
        request?.body.append(contentsOf: UnsafeRawBufferPointer(part))
    }

    private func refuse(_ refusal: HTTPRefusal) {
        forget()
        progress = .refused(server.handler.response(to: refusal))
    }

    private func forget() {
        server.bodies -= request?.body.count ?? 0
        request = nil
    }

    private func reply(
        _ answer: @Sendable (IncomingRequest) -> HTTPReply, _ connection: OpaquePointer
    ) -> MHD_Result {
        guard let request else { return .NO }
        switch answer(request) {
        case .now(let response): return send(response, connection)
        case .later(let exchange, let time):
            // The handler has what it needs of the body.
            forget()
            progress = .waiting(exchange)
            let descriptor = cmicrohttpd_descriptor(connection)
            if !server.connections.wait(for: exchange, descriptor, atMost: time) { exchange.answerLate() }
            return advance(exchange, connection)
        }
    }

    private func advance(_ exchange: HTTPExchange, _ connection: OpaquePointer) -> MHD_Result {
        switch exchange.next(connection) {
        case .send(let response): send(response, connection)
        case .wait: .YES
        case .close: .NO
        }
    }

    private func send(_ response: HTTPResponse, _ connection: OpaquePointer) -> MHD_Result {
        server.connections.enter(.answer, cmicrohttpd_descriptor(connection))
        var body = response.body
        let made = body.withUTF8 { bytes in
            MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
        }
        guard let made else { return .NO }
        defer { MHD_destroy_response(made) }
        _ = MHD_add_response_header(made, "Content-Type", response.contentType)
        for header in response.headers { _ = MHD_add_response_header(made, header.name, header.value) }
        if isLast || server.isDraining { _ = MHD_add_response_header(made, "Connection", "close") }
        return MHD_queue_response(connection, response.status.rawValue, made)
    }
}
