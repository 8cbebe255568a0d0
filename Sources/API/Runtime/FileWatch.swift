import Hosting
import JSONReader
import Telemetry

/// Takes up a file of a setting when it changes. One thread.
struct FileWatch<Content> {
    /// How long a file may be unreadable: somebody may be writing it.
    private static var patience: Duration { .seconds(10) }
    private static var interval: Duration { .milliseconds(500) }

    private var file: WatchedFile<Content>
    private let setting: String
    private let logger: Logger

    /// - Parameters:
    ///   - file: which was read.
    ///   - setting: which names it.
    init(_ file: WatchedFile<Content>, of setting: String, logger: Logger) {
        (self.file, self.setting, self.logger) = (file, setting, logger)
    }

    /// - Parameter take: gets what the file has from now on, and says how much that is.
    /// - Throws: ``PipelineError`` once the file cannot be used any more: nobody knows then who is still let in.
    mutating func run(on host: RoleHost, _ take: (Content) -> String) throws {
        var badSince: ContinuousClock.Instant?
        while !host.mustEnd {
            do throws(InvalidForm) {
                if let content = try file.read() {
                    // A logger evaluates no line that is not written.
                    let told = take(content)
                    logger.notice("\(setting) was read again: \(told)")
                }
                badSince = nil
            } catch {
                let since = badSince ?? host.time.now()
                badSince = since
                guard host.time.now() - since < Self.patience else {
                    throw PipelineError.decisionNeeded(
                        "the file of \(setting) cannot be used: \(error.problems.joined(separator: "; "))")
                }
            }
            host.time.sleep(Self.interval)
        }
    }
}
