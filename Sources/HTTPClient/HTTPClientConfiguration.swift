/// How a client connects, and its limits.
package struct HTTPClientConfiguration: Sendable {
    /// Connections to a host at most. A second one is opened when every stream of the first is taken.
    package var connections = 1
    /// Requests in flight on a connection at most. A server's SETTINGS may allow fewer, which is obeyed.
    package var streams = 100
    /// From the start of a request to the end of its answer.
    package var timeout: Duration = .seconds(15)
    /// Name, connection, proxy and TLS; and then the server's first SETTINGS. A part of `timeout`.
    package var connectTimeout: Duration = .seconds(10)
    /// The client's thread works this long at most until it has waited again, or the process was stopped meanwhile: then nothing
    /// is sent that was made before. Nor is a request given to a connection that was made longer ago.
    package var longestRound: Duration = .seconds(3)
    /// PEM file of the only authorities that are trusted; without it those of the system.
    package var caFile: String?
    package var proxy = Proxy.environment
    /// The answers' headers that are kept, in lower case: of each the first value that is no longer than `maxHeader`.
    package var keptHeaders: [String] = []
    /// The longest value of a header that is kept, in bytes.
    package var maxHeader = 256
    /// The longest head of an answer in bytes, decoded, with 32 for each field, as RFC 9113 §6.5.2 counts: all heads and
    /// trailers together. A packed one of a few KB can be hundreds of MB.
    package var maxHead = 16_384
    /// The longest body of an answer, in bytes.
    package var maxBody = 16_384
    /// Sends one request on a fresh connection, and more only after an answer that shows that the credential in it was
    /// accepted: any status below 500 but 401, 403 and 429. APNs asks for it (push-rules §2.1).
    package var firstAnswerOpens = false

    package init() {}

    package enum Proxy: Sendable {
        /// `HTTPS_PROXY` or `ALL_PROXY`, in either case of letters, but not for the hosts of `NO_PROXY`.
        case environment
        /// `http://[user:password@]host:port`, but not for the hosts of `NO_PROXY`.
        case url(String)
        case none
    }
}

/// Why a client cannot start.
package struct HTTPClientError: Error, CustomStringConvertible {
    package var description: String
}
