/// What one server takes. The defaults are those of the pages for monitoring.
package struct HTTPLimits: Sendable {
    /// Connections at a time, and of these from one address. Who is slow makes room for the next one.
    package var connections = 64
    package var connectionsOfAnAddress = 16
    package var targetBytes = 4 << 10
    /// Of the request line and the headers. At most 16 KiB: libmicrohttpd has 32 KiB for all that it keeps of a connection.
    package var headBytes = 16 << 10
    /// Of all bodies that are kept at a time.
    package var bodiesBytes = 64 << 20
    /// From the accept to the end of the first request's head, and from the request line of a further one.
    package var headTime = Duration.seconds(5)
    /// From the end of an answer to the next request line.
    package var idleTime = Duration.seconds(5)
    /// From the end of the head to the end of the body.
    package var bodyTime = Duration.seconds(10)
    /// From the answer to the end of it at the client; a client that reads slowly does not take longer.
    package var answerTime = Duration.seconds(30)

    package init() {}
}
