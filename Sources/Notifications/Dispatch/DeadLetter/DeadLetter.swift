/// A record that cannot be processed, and why.
public struct DeadLetter: Error, Equatable, Sendable {
    public var code: Code
    /// One sentence for a person, with the value found and the values allowed.
    public var message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
