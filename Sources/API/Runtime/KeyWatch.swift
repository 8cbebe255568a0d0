import Hosting
import JSONReader
import Telemetry

/// Takes up the file of keys when it changes. One thread.
struct KeyWatch {
    /// How long a file may be unreadable: somebody may be writing it.
    private static let patience = Duration.seconds(10)
    private static let interval = Duration.milliseconds(500)

    private var file: KeyFile
    private let logger: Logger

    /// - Parameter file: which was read.
    init(_ file: KeyFile, logger: Logger) {
        self.file = file
        self.logger = logger
    }

    /// - Parameter take: gets the keys that the file has from now on.
    /// - Throws: ``PipelineError`` once the file cannot be used any more: nobody knows then whose keys still count.
    mutating func run(on host: RoleHost, _ take: (KeyRing) -> Void) throws {
        var badSince: ContinuousClock.Instant?
        while !host.mustEnd {
            do throws(InvalidForm) {
                if let ring = try file.read() {
                    take(ring)
                    logger.notice("api.keys was read again: \(ring.entries.count) keys")
                }
                badSince = nil
            } catch {
                let since = badSince ?? host.time.now()
                badSince = since
                guard host.time.now() - since < Self.patience else {
                    throw PipelineError.decisionNeeded(
                        "the file of api.keys cannot be used: \(error.problems.joined(separator: "; "))")
                }
            }
            host.time.sleep(Self.interval)
        }
    }
}
