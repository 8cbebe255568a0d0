/// A POST to an `https` address.
package struct HTTPRequest: Sendable {
    /// The caller's; comes back with the result. Two requests in flight may have the same one.
    package var tag: UInt64
    package var url: String
    /// Names in lower case. Nothing is added to them but what the protocol needs.
    package var headers: [HTTPHeader]
    package var body: [UInt8]
    /// When it was made, if something in it depends on the time: where it still waits for a stream after
    /// `HTTPClientConfiguration.longestRound`, it is given back and not sent, to be made again.
    package var madeAt: ContinuousClock.Instant?
    /// When all of it is to be sent: what is not is taken back, however long it had to wait for a stream or for the
    /// server's flow control, or the process was frozen.
    package var sendBy: ContinuousClock.Instant?

    package init(
        tag: UInt64, url: String, headers: [HTTPHeader], body: [UInt8], madeAt: ContinuousClock.Instant? = nil,
        sendBy: ContinuousClock.Instant? = nil
    ) {
        self.tag = tag
        self.url = url
        self.headers = headers
        self.body = body
        self.madeAt = madeAt
        self.sendBy = sendBy
    }
}

package struct HTTPHeader: Sendable, Equatable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}
