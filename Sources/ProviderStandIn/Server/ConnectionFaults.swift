/// What a server does to its connections.
package struct ConnectionFaults: Sendable {
    /// Streams of a connection at a time, as its SETTINGS say.
    package var streams: UInt32 = 100
    /// How many bytes of a stream's body it takes, as its SETTINGS say; 0 is a server whose flow control is closed.
    package var window: UInt32 = 1 << 20
    /// A connection gets a GOAWAY after so many requests; those that were begun later are not processed.
    package var goAwayAfter: Int?
    /// A connection is cut off at every so many requests of the server, before the answer.
    package var resetEvery: Int?
    /// A connection is neither read nor written any more after so many requests, and stays open.
    package var stallAfter: Int?
    /// Only the first so many connections have faults.
    package var connections = Int.max

    package init() {}
}

/// What a server has seen.
package struct ServerCounts: Sendable {
    package var connections = 0
    package var openConnections = 0
    package var requests = 0
    /// The most requests of one connection that were without an answer at a time.
    package var mostStreams = 0
    package var handshakesFailed = 0
    /// Streams that a client gave up (`CANCEL`).
    package var cancelled = 0
}
