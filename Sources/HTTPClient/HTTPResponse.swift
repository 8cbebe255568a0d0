/// What the server answered.
package struct HTTPResponse: Sendable, Equatable {
    package var status: Int
    /// Those that `HTTPClientConfiguration.keptHeaders` names, the first value of each, in the server's order, with names in lower case.
    package var headers: [HTTPHeader]
    /// At most `HTTPClientConfiguration.maxBody` bytes: a longer one is a failure.
    package var body: [UInt8]
    /// From the start of the request, with the connection if one had to be made, to the end of the answer. Waiting in
    /// the client's queue is not part of it.
    package var duration: Duration

    /// The first value of a header, by its name in lower case.
    package subscript(header name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}

/// What became of a request: every request that was submitted has exactly one.
package struct HTTPResult: Sendable {
    package var tag: UInt64
    package var outcome: Result<HTTPResponse, HTTPFailure>
}
