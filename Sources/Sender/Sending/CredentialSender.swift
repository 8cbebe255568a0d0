import Foundation
import HTTPClient
import KafkaClient
import Pipeline

/// A credential at work: its token, its connections, and the files that hold its secret. One owner.
final class CredentialSender {
    /// What came of a request.
    struct Result {
        var tag: UInt64
        /// Nil: it was not sent in time, and waits as before.
        var verdict: Verdict?
        var status: Int?
        var duration: Duration?
    }

    /// The tag of requests for access tokens; the lane's begin at 1.
    private static let tokenTag = UInt64.max
    /// How often the files are read again.
    private static let fileInterval: Int64 = 1_000
    /// How often the same cause of missing answers is told, in milliseconds.
    private static let causeInterval: Int64 = 60_000

    let credential: ProviderCredential
    private let logger: Logger
    private let settings: SenderConfiguration
    /// How long a request may wait for a stream: after it another process may have its partition.
    private let patience: Duration
    private var token: ProviderToken
    private var version: FileVersion
    /// One for each environment, since a connection has one kind of token.
    private var clients: [(environment: PushEnvironment?, client: any ProviderClient)] = []
    /// Of each client.
    private var endpoints: [String] = []
    private var results: [HTTPResult] = []
    private var nextRead = WallTime.epoch
    /// The last failure, for a person: of the connection, or the provider's code.
    private(set) var lastFailure: String?
    /// When each cause is told again.
    private var tellAgain: [NoAnswer: WallTime] = [:]
    /// Why there is no token, if the token endpoint said so.
    private(set) var problem: String?

    /// Reads the files and starts the clients.
    ///
    /// - Parameter signal: is raised when there are results.
    /// - Throws: ``CredentialError``, `HTTPClientError`.
    init(
        _ credential: ProviderCredential, _ settings: SenderConfiguration, patience: Duration, signal: QueueSignal,
        connect: ProviderConnect = connectHTTP, logger: Logger
    ) throws {
        // Before it is read: what changes in between is read again.
        version = FileVersion(of: credential.source.file)
        let loaded = try LoadedCredential.read(credential)
        self.credential = credential
        self.logger = logger
        self.settings = settings
        self.patience = patience
        token = ProviderToken(loaded)
        var configuration = HTTPClientConfiguration()
        configuration.connections = max(1, (settings.inFlight + configuration.streams - 1) / configuration.streams)
        configuration.caFile = settings.caFile
        let provider = credential.platform.provider
        configuration.keptHeaders = ["retry-after", "date"] + provider.answerHeaders
        configuration.firstAnswerOpens = provider.firstAnswerOpens
        for environment in provider.environments(of: credential) {
            clients.append((environment, try connect(configuration, signal)))
        }
        setEndpoints(of: loaded)
    }

    private func setEndpoints(of loaded: LoadedCredential) {
        endpoints = clients.map { credential.platform.provider.endpoint(of: loaded, $0.environment, settings) }
    }

    func isReady(now: WallTime) -> Bool { token.isReady(now: now) }

    /// See ``ProviderToken/age(now:)``.
    func tokenAge(now: WallTime) -> Duration? { token.age(now: now) }

    /// Looks at the files, and asks for an access token if one is due.
    ///
    /// - Returns: whether the files have changed.
    func tick(now: WallTime) -> Bool {
        var isNew = false
        if now >= nextRead {
            nextRead = now + Self.fileInterval
            if version.hasChanged() { isNew = readAgain() }
        }
        do {
            if let request = try token.request(tag: Self.tokenTag, now: now) { clients[0].client.submit([request]) }
        } catch {
            logger.error("credential '\(credential.name)' cannot sign: \(error)")
        }
        return isNew
    }

    /// The old one is used until there is a good new one.
    private func readAgain() -> Bool {
        do throws(CredentialError) {
            let loaded = try LoadedCredential.read(credential)
            token = ProviderToken(loaded)
            setEndpoints(of: loaded)
            problem = nil
            logger.notice("credential '\(credential.name)' was read again")
            return true
        } catch {
            logger.error(
                "credential '\(credential.name)' has changed and cannot be used; the old one is kept: \(error)")
            return false
        }
    }

    /// Sends the requests of this credential.
    ///
    /// - Parameter instant: when it was `now`: what the process is stopped for after that counts as passed.
    /// - Returns: the tags of those that cannot be made, and why; nil: there is no token.
    func send(
        _ requests: [LaneRequest], _ reader: inout MessageReader, now: WallTime, at instant: ContinuousClock.Instant
    ) -> [(tag: UInt64, problem: MessageProblem?)] {
        var failed: [(tag: UInt64, problem: MessageProblem?)] = []
        var made: [[HTTPRequest]] = Array(repeating: [], count: clients.count)
        for request in requests {
            do throws(MessageProblem) {
                guard let token = try? token.token(for: request.tag, now: now) else {
                    failed.append((request.tag, nil))
                    continue
                }
                guard let index = clients.firstIndex(where: { $0.environment == request.record.environment }) else {
                    throw .unreadableRecord
                }
                let message = try reader.request(request.record, to: endpoints[index], token, now: now)
                made[index].append(
                    HTTPRequest(
                        tag: request.tag, url: message.url,
                        headers: message.headers, body: message.body,
                        madeAt: instant, sendBy: instant + min(patience, .milliseconds(request.record.expiresAt - now)))
                )
            } catch {
                failed.append((request.tag, error))
            }
        }
        for (index, requests) in made.enumerated() { clients[index].client.submit(requests) }
        return failed
    }

    /// What came of requests since the last call.
    func takeResults(_ answers: inout AnswerReader, now: WallTime) -> [Result] {
        results.removeAll(keepingCapacity: true)
        for (_, client) in clients { client.takeResults(into: &results) }
        var taken: [Result] = []
        for result in results {
            noteFailure(result.outcome)
            if result.tag == Self.tokenTag {
                complete(result.outcome, now: now)
            } else if let read = read(result, &answers, now: now) {
                taken.append(read)
            }
        }
        return taken
    }

    private func noteFailure(_ outcome: Swift.Result<HTTPResponse, HTTPFailure>) {
        switch outcome {
        case .success(let response) where response.status >= 500 || [401, 403, 404].contains(response.status):
            lastFailure = "HTTP \(response.status)"
        case .failure(.cancelled), .failure(.tooLate), .success: break
        case .failure(let failure): lastFailure = "\(failure)"
        }
    }

    private func read(_ result: HTTPResult, _ answers: inout AnswerReader, now: WallTime) -> Result? {
        switch result.outcome {
        case .success(let response):
            let verdict = response.body.withUnsafeBytes { body in
                answers.verdict(
                    of: ProviderAnswer(status: response.status, body: body) { response[header: $0.description] },
                    from: credential.platform, now: now)
            }
            return Result(
                tag: result.tag, verdict: verdict, status: response.status, duration: response.duration)
        case .failure(.tooLate):
            return Result(tag: result.tag)
        case .failure(.invalidRequest):
            return Result(tag: result.tag, verdict: .refused(reason: MessageProblem.unreadableRecord.rawValue))
        // The lane has given the request up, or ends.
        case .failure(.cancelled):
            return nil
        case .failure(let failure):
            let cause = NoAnswer(failure)
            tell(cause, failure, now: now)
            let attempt = AttemptFailure.noAnswer(mayHaveArrived: failure.mayHaveArrived, cause)
            return Result(tag: result.tag, verdict: attempt.verdict)
        }
    }

    private func tell(_ cause: NoAnswer, _ failure: HTTPFailure, now: WallTime) {
        guard now >= tellAgain[cause] ?? .distantPast else { return }
        tellAgain[cause] = now + Self.causeInterval
        logger.warning("credential '\(credential.name)' gets no answer: \(failure)", ["reason": cause.rawValue])
    }

    private func complete(_ outcome: Swift.Result<HTTPResponse, HTTPFailure>, now: WallTime) {
        let answer: AccessTokenAnswer
        switch outcome {
        case .success(let response):
            answer = response.body.withUnsafeBytes { AccessTokenAnswer(status: response.status, body: $0) }
        case .failure(let failure):
            answer = .failed(reason: "\(failure)")
        }
        problem = token.complete(answer, now: now)
        switch answer {
        case .token: break
        case .refused(let reason), .failed(let reason):
            logger.warning("credential '\(credential.name)' got no access token: \(reason)")
        }
    }

    /// The provider does not accept the token of this request.
    func refuseToken(of tag: UInt64, now: WallTime) { token.refuse(tag, now: now) }

    func cancel(_ tags: [UInt64]) {
        for (_, client) in clients { client.cancel(tags: tags) }
    }

    func close() {
        for (_, client) in clients { client.close() }
    }
}
