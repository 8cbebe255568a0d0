/// Writes log entries of a level and above to a sink, with metadata that is added to each of them.
///
/// A value: copy it, and change the copy's label, level or metadata. Any thread may log; entries of one thread keep
/// their order. Below the level neither message nor metadata is evaluated.
public struct Logger: Sendable {
    public typealias Metadata = [String: String]

    /// Who logs: `carillon.worker`.
    public var label: String
    /// Less severe entries are dropped.
    public var level: Level
    /// Added to every entry; an entry's own value wins.
    public var metadata: Metadata
    public var sink: any LogSink

    public init(
        label: String, level: Level = .info, metadata: Metadata = [:], sink: any LogSink = LogStream.standardError
    ) {
        self.label = label
        self.level = level
        self.metadata = metadata
        self.sink = sink
    }

    /// How severe an entry is; swift-log's seven levels.
    public enum Level: String, CaseIterable, Comparable, Sendable {
        case trace, debug, info, notice, warning, error, critical

        public static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }

        private var rank: Int {
            switch self {
            case .trace: 0
            case .debug: 1
            case .info: 2
            case .notice: 3
            case .warning: 4
            case .error: 5
            case .critical: 6
            }
        }
    }

    /// Writes an entry, if `level` is the logger's or above.
    public func log(_ level: Level, _ message: @autoclosure () -> String, _ metadata: @autoclosure () -> Metadata = [:])
    {
        guard level >= self.level else { return }
        sink.write(
            LogEntry(
                time: WallClock.now, level: level, label: label, message: message(),
                metadata: self.metadata.merging(metadata()) { _, own in own }))
    }
}

extension Logger {
    public func trace(_ message: @autoclosure () -> String, _ metadata: @autoclosure () -> Metadata = [:]) {
        log(.trace, message(), metadata())
    }

    public func debug(_ message: @autoclosure () -> String, _ metadata: @autoclosure () -> Metadata = [:]) {
        log(.debug, message(), metadata())
    }

    public func info(_ message: @autoclosure () -> String, _ metadata: @autoclosure () -> Metadata = [:]) {
        log(.info, message(), metadata())
    }

    public func notice(_ message: @autoclosure () -> String, _ metadata: @autoclosure () -> Metadata = [:]) {
        log(.notice, message(), metadata())
    }

    public func warning(_ message: @autoclosure () -> String, _ metadata: @autoclosure () -> Metadata = [:]) {
        log(.warning, message(), metadata())
    }

    public func error(_ message: @autoclosure () -> String, _ metadata: @autoclosure () -> Metadata = [:]) {
        log(.error, message(), metadata())
    }

    public func critical(_ message: @autoclosure () -> String, _ metadata: @autoclosure () -> Metadata = [:]) {
        log(.critical, message(), metadata())
    }
}
