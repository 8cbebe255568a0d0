/// A POST to an `https` address.
package struct HTTPRequest: Sendable {
    /// The caller's; comes back with the result. Two requests in flight may have the same one.
    package var tag: UInt64
    package var url: String
    /// Names in lower case. Nothing is added to them but what the protocol needs.
    package var headers: [HTTPHeader]
    package var body: [UInt8]
    /// Not to be sent after this time, however long it had to wait for a stream, or the process was frozen.
    package var startBy: ContinuousClock.Instant?

    package init(
        tag: UInt64, url: String, headers: [HTTPHeader], body: [UInt8], startBy: ContinuousClock.Instant? = nil
    ) {
        self.tag = tag
        self.url = url
        self.headers = headers
        self.body = body
        self.startBy = startBy
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
