import KafkaClient

#if DEBUG
    import Foundation

    extension WorkerContext {
        /// Fails here if `CARILLON_FAULT` says so.
        ///
        /// - Parameter worker: its number; -1 for the thread that keeps the table.
        func reach(_ point: FaultPoint, worker: Int = -1) throws(KafkaError) {
            guard let action = faults?.draw(point, worker: worker) else { return }
            FileHandle.standardError.write(Data("fault: \(action)@\(point.rawValue)\n".utf8))
            switch action {
            case .kill: kill(getpid(), SIGKILL)
            case .stop: kill(getpid(), SIGSTOP)
            case .abort:
                throw KafkaError(
                    kind: .other, recovery: .abortTransaction, name: "",
                    message: "an abort that CARILLON_FAULT asked for",
                    operation: point.rawValue)
            }
        }
    }

    /// Where a test has a batch that takes all memory: a worker that waits at the place in `CARILLON_FAULT_BOMB`, as
    /// `<topic>/<partition>/<offset>`, takes more memory, so to speak, and is killed.
    enum FaultBomb {
        static let place = ProcessInfo.processInfo.environment["CARILLON_FAULT_BOMB"].flatMap {
            RecordPosition(parsing: $0)
        }

        static func explode() {
            FileHandle.standardError.write(Data("fault: bomb\n".utf8))
            kill(getpid(), SIGKILL)
        }
    }
#else
    extension WorkerContext {
        @inline(__always) func reach(_ point: FaultPoint, worker: Int = -1) throws(KafkaError) {}
    }
#endif
