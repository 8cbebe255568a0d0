import Foundation
import KafkaClient
import Pipeline

/// Whether the provider accepts a credential, found out without notifying anybody: FCM validates a message and sends
/// nothing, and APNs answers `BadDeviceToken` to a token that nobody has.
package struct CredentialTrial: Equatable, Sendable {
    package enum Outcome: Equatable, Sendable {
        case accepted
        /// The provider's code.
        case refused(String)
        /// The file, or the connection.
        case failed(String)
    }

    private static let longest = Duration.seconds(15)

    package var credential: String
    /// Of APNs.
    package var environment: PushEnvironment?
    package var outcome: Outcome

    /// Tries every credential, each for at most 15 seconds.
    package static func run(_ settings: SenderConfiguration, logger: Logger) throws(KafkaError)
        -> [CredentialTrial]
    {
        var trials: [CredentialTrial] = []
        for credential in settings.credentials {
            let signal = try QueueSignal()
            do {
                let sender = try CredentialSender(
                    credential, settings, patience: longest, signal: signal, logger: logger)
                defer { sender.close() }
                for environment in credential.platform.provider.environments(of: credential) {
                    trials.append(try run(sender, environment))
                }
            } catch {
                trials.append(CredentialTrial(credential: credential.name, outcome: .failed("\(error)")))
            }
        }
        return trials
    }

    private static func run(_ sender: CredentialSender, _ environment: PushEnvironment?) throws -> CredentialTrial {
        let clock = PipelineClock()
        let deadline = ContinuousClock.now + longest
        var reader = MessageReader()
        var answers = AnswerReader()
        var isSent = false
        func trial(_ outcome: Outcome) -> CredentialTrial {
            CredentialTrial(credential: sender.credential.name, environment: environment, outcome: outcome)
        }
        while .now < deadline {
            let instant = ContinuousClock.now
            let now = clock.now(instant)
            _ = sender.tick(now: now)
            if let problem = sender.problem { return trial(.refused(problem)) }
            if !isSent, sender.isReady(now: now) {
                isSent = true
                let request = request(sender.credential, environment, now: now)
                let failed = sender.send([request], &reader, now: now, at: instant)
                if let first = failed.first { return trial(.failed("\(first.problem.map(\.rawValue) ?? "no token")")) }
            }
            if let result = sender.takeResults(&answers, now: now).first {
                // One that has waited for its connection for too long is made again.
                isSent = result.verdict != nil
                if isSent { return trial(Outcome(result, sender.lastFailure)) }
            }
            Thread.sleep(forTimeInterval: 0.02)
        }
        return trial(.failed(sender.lastFailure ?? "no answer within 15 s"))
    }

    private static func request(
        _ credential: ProviderCredential, _ environment: PushEnvironment?, now: WallTime
    ) -> LaneRequest {
        let hash = String(repeating: "0", count: 64)
        let value = credential.platform.provider.trial(of: credential, environment, device: hash)
        return LaneRequest(
            tag: 1,
            record: LaneRecord(
                partition: 0, source: 0, device: 0, deviceHash: hash, messageID: "carillon-check",
                platform: credential.platform, environment: environment, credential: 0, expiresAt: now + 60_000,
                value: Array(value.utf8)), credential: 0)
    }
}

extension CredentialTrial.Outcome {
    /// - Parameter failure: the last one, for a person.
    init(_ result: CredentialSender.Result, _ failure: String?) {
        switch result.verdict {
        // The provider looked at the message: the credential was accepted before that.
        case .accepted, .deadDevice, .refused, .slowDown: self = .accepted
        case .refreshCredential(let reason), .pauseCredential(let reason): self = .refused(reason)
        case .retry(let reason, _, _, _): self = .failed(failure ?? reason)
        case nil: self = .failed("it was not sent in time")
        }
    }
}
