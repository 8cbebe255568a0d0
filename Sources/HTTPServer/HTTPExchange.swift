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
    private let otherwise: HTTPResponse
    private let state = Mutex(State())

    /// - Parameter otherwise: what the server answers if nobody else does.
    package init(otherwise: HTTPResponse) {
        self.otherwise = otherwise
    }

    package func answer(_ response: HTTPResponse) {
        state.withLock { state in
            guard state.answer == nil else { return }
            state.answer = response
            Self.resume(&state)
        }
    }

    package var isAnswered: Bool { state.withLock { $0.answer != nil } }

    func answerLate() {
        answer(otherwise)
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
