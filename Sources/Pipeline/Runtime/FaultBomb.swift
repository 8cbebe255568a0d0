#if DEBUG
    import Foundation
    import KafkaClient

    /// Where a test has a batch that takes all memory: a worker that waits at the position in `CARILLON_FAULT_BOMB`, as
    /// `<topic>/<partition>/<offset>`, takes more memory, so to speak, and is killed.
    enum FaultBomb {
        static let position = ProcessInfo.processInfo.environment["CARILLON_FAULT_BOMB"].flatMap {
            RecordPosition(parsing: $0)
        }

        static func explode() {
            FileHandle.standardError.write(Data("fault: bomb\n".utf8))
            kill(getpid(), SIGKILL)
        }
    }
#endif
