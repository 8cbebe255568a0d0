/// A request as it came, whole.
package struct StandInRequest: Sendable {
    package var method = ""
    package var path = ""
    /// Without those whose names begin with a colon.
    package var headers: [(name: String, value: String)] = []
    package var body: [UInt8] = []
    /// Counts the server's connections, from 1.
    package var connection: UInt64
    /// Requests of this connection that have no answer yet, this one included.
    package var openStreams = 0

    package subscript(header name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}

package struct StandInAnswer: Sendable {
    package var status: Int
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    package var course = Course.now

    package init(status: Int, headers: [(name: String, value: String)] = [], body: String = "") {
        self.status = status
        self.headers = headers
        self.body = Array(body.utf8)
    }

    /// What happens to the answer.
    package enum Course: Sendable {
        case now
        case after(Duration)
        case never
        /// The stream is reset with this error code (RFC 9113 §7).
        case resetStream(UInt32)
        /// The connection is cut off, by TCP's reset.
        case resetConnection
    }
}
