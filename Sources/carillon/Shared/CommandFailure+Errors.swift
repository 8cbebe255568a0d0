import Broadcasts
import Foundation
import HTTPServer
import KafkaClient
import Replay
import Sender

extension CommandFailure {
    /// The failure that an error means to the caller of the command.
    init(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let error as ConfigurationProblems:
            // What was typed is looked at first, so one bad flag is enough.
            let isUsage = error.problems.contains(where: \.isOfFlag)
            self.init(isUsage ? .usage : .configuration, lines: error.problems.map(\.description))
        case let error as PipelineError: self.init(ExitCode(error), error.description)
        case let error as KafkaError: self.init(ExitCode(error), error.description)
        case let error as HTTPServerError: self.init(.configuration, error.description)
        case let error as SubscriptionTableError: self.init(ExitCode(error), error.description)
        case let error as ScratchError: self.init(error.isDiskFull ? .notInTime : .configuration, error.description)
        case let error as BroadcastGroup.Refusal: self.init(.configuration, error.description)
        case let error as ReplayRefusal: self.init(.configuration, error.description)
        case let error as ResendTakenOver: self.init(.inUse, error.description)
        case is ReaperStopped: self.init(.notInTime, "stopped; the next run tells the registrar what is left")
        case is ReplayStopped: self.init(.notInTime, "stopped; nothing was changed, start it again")
        case let error as FileError: self.init(.usage, error.description)
        case let error as Subscription.Invalid: self.init(.usage, lines: error.problems)
        default: self.init(.defect, "\(error)")
        }
    }
}

extension ExitCode {
    init(_ error: PipelineError) {
        switch error {
        case .instanceInUse: self = .inUse
        case .defect, .unplaceableRecord: self = .defect
        case .notDrained: self = .notInTime
        case .notAuthorized: self = .notPermitted
        case .decisionNeeded: self = .configuration
        }
    }

    init(_ error: KafkaError) {
        switch error.kind.traits.remedy {
        case .permission: self = .notPermitted
        case .otherProcess: self = .inUse
        case .time: self = .notInTime
        case .topic, .settings, .decision: self = .configuration
        // Usually a leader or coordinator that is moving.
        case .program where error.kind == .other && error.recovery == .retry: self = .notInTime
        case .program: self = .defect
        }
    }

    init(_ error: SubscriptionTableError) {
        switch error.recovery {
        case .wipe: self = .difference
        case .retry: self = .notInTime
        case .giveUp: self = .configuration
        }
    }
}
