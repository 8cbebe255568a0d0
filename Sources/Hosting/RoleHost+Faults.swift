import KafkaClient

#if DEBUG
    import Foundation

    extension RoleHost {
        /// Fails here if `CARILLON_FAULT` says so.
        package func reach(_ point: FaultPoint, worker: Int) throws(KafkaError) {
            guard case .success(let plan?) = faults, let action = plan.draw(point, worker: worker) else { return }
            FileHandle.standardError.write(Data("fault: \(action)@\(point.rawValue)\n".utf8))
            switch action {
            case .kill: kill(getpid(), SIGKILL)
            case .stop: kill(getpid(), SIGSTOP)
            case .abort:
                throw KafkaError(
                    kind: .other, recovery: .abortTransaction, name: "",
                    message: "an abort that CARILLON_FAULT asked for", operation: point.rawValue)
            }
        }
    }
#else
    extension RoleHost {
        @inline(__always) package func reach(_ point: FaultPoint, worker: Int) throws(KafkaError) {}
    }
#endif
