/// A line that librdkafka logs.
public struct ClientLog: Sendable {
    public enum Level: Int, Comparable, Sendable {
        case critical, error, warning, notice, info, debug

        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    public var level: Level
    /// librdkafka's name for the kind of line, `FAIL`.
    public var facility: String
    /// The client's name, `rdkafka#consumer-1`.
    public var client: String
    public var message: String

    /// Receives log lines on librdkafka's own threads, and on the owner's. It must be quick and must not call the
    /// client.
    public typealias Sink = @Sendable (ClientLog) -> Void
}
