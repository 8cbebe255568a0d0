import CMicrohttpd
import Synchronization

/// Takes the answer to one request. Any thread may give it, once or several times: the first answer counts, and one that
/// comes too late is dropped.
package final class HTTPExchange: Sendable {
    /// `@unchecked Sendable`: any thread may resume a suspended connection, and libmicrohttpd keeps it until then.
    private struct Suspended: @unchecked Sendable {
        let connection: OpaquePointer
    }

    private struct State {
        var answer: HTTPResponse?
        var isAbandoned = false
        var suspended: Suspended?
    }

    /// What the server's thread does next.
    enum Next {
        case send(HTTPResponse)
        /// It is called again when there is an answer.
        case wait
        case close
    }

    /// The answer at the end of the time.
    private let otherwise: @Sendable () -> HTTPResponse
    private let answered: @Sendable (HTTPResponse) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - otherwise: what the server answers if nobody else does.
    ///   - answered: is told the answer, before the client gets it.
    package init(
        otherwise: @autoclosure @escaping @Sendable () -> HTTPResponse,
        answered: @escaping @Sendable (HTTPResponse) -> Void = { _ in }
    ) {
        self.otherwise = otherwise
        self.answered = answered
    }

    package func answer(_ response: HTTPResponse) {
        let isFirst = state.withLock { state in
            defer { if state.answer == nil { state.answer = response } }
            return state.answer == nil
        }
        guard isFirst else { return }
        answered(response)
        state.withLock { Self.resume(&$0) }
    }

    /// nil as long as nobody has answered.
    package var given: HTTPResponse? { state.withLock { $0.answer } }

    func answerLate() {
        answer(otherwise())
    }

    /// The client was cut off: it gets no answer.
    func abandon() {
        state.withLock { state in
            state.isAbandoned = true
            Self.resume(&state)
        }
    }

    /// Suspends the connection unless the answer is there. Only the server's thread, in the callback for the whole request.
    func next(_ connection: OpaquePointer) -> Next {
        let suspended = Suspended(connection: connection)
        return state.withLock { state in
            // One exchange for two requests could resume only one of them.
            if state.isAbandoned || state.suspended != nil { return .close }
            if let answer = state.answer { return .send(answer) }
            MHD_suspend_connection(suspended.connection)
            state.suspended = suspended
            return .wait
        }
    }

    private static func resume(_ state: inout State) {
        guard let suspended = state.suspended else { return }
        state.suspended = nil
        MHD_resume_connection(suspended.connection)
    }
}
