/// A request as it came: nothing in it is decoded.
package struct IncomingRequest: Sendable {
    package struct Header: Sendable {
        /// In lower case.
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package var method: String
    /// Path and query; ``RequestTarget`` decodes them.
    package var target: String
    package var headers: [Header]
    /// The address that the connection came from; empty where it is not known.
    package var peer = ""
    /// Empty until the request is there in whole.
    package var body: [UInt8] = []

    package init(method: String, target: String, headers: [Header] = []) {
        self.method = method
        self.target = target
        self.headers = headers
    }

    /// - Parameter name: in lower case.
    /// - Returns: nil if it is absent, or there several times.
    package func header(_ name: String) -> String? {
        let values = headers.lazy.filter { $0.name == name }.map(\.value)
        return values.dropFirst().isEmpty ? values.first : nil
    }
}
