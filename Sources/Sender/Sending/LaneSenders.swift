import KafkaClient
import Pipeline

/// The credentials of a lane at work. One owner.
struct LaneSenders: ~Copyable {
    /// By their index in the configuration; nil of another provider's.
    private var senders: [CredentialSender?] = []
    private var reader = MessageReader()
    private var answers = AnswerReader()

    /// Starts those of the provider.
    ///
    /// - Throws: ``PipelineError/decisionNeeded(_:)`` naming every file that cannot be used.
    init(_ provider: Platform, _ context: SenderContext, signal: QueueSignal, logger: Logger) throws(PipelineError) {
        let delivery = context.configuration.delivery
        var problems: [String] = []
        for credential in delivery.credentials {
            guard credential.platform == provider else {
                senders.append(nil)
                continue
            }
            do {
                senders.append(
                    try CredentialSender(
                        credential, delivery, patience: context.configuration.sessionTimeout / 2, signal: signal,
                        connect: context.connect, logger: logger))
            } catch {
                problems.append("\(error)")
            }
        }
        guard problems.isEmpty else {
            throw .decisionNeeded("delivery.credentials: " + problems.joined(separator: "; "))
        }
    }

    /// Looks at the files and the tokens of each.
    ///
    /// - Parameter take: the credential's index, whether it can send, and whether its files have changed.
    func tick(now: WallTime, _ take: (Int, _ isReady: Bool, _ isNew: Bool) -> Void) {
        for (index, sender) in senders.enumerated() {
            guard let sender else { continue }
            let isNew = sender.tick(now: now)
            take(index, sender.isReady(now: now), isNew)
        }
    }

    /// Sends requests.
    ///
    /// - Parameter instant: when it was `now`.
    /// - Returns: those that cannot be made, and why; nil: there is no token.
    mutating func send(
        _ requests: [LaneRequest], now: WallTime, at instant: ContinuousClock.Instant
    ) -> [(tag: UInt64, problem: MessageProblem?)] {
        var failed: [(tag: UInt64, problem: MessageProblem?)] = []
        for index in senders.indices {
            let own = requests.filter { $0.credential == index }
            guard !own.isEmpty else { continue }
            if let sender = senders[index] {
                failed += sender.send(own, &reader, now: now, at: instant)
            } else {
                failed += own.map { ($0.tag, .noCredential) }
            }
        }
        return failed
    }

    /// What came of requests since the last call.
    mutating func takeResults(now: WallTime, _ take: (CredentialSender, CredentialSender.Result) -> Void) {
        for sender in senders {
            guard let sender else { continue }
            for result in sender.takeResults(&answers, now: now) { take(sender, result) }
        }
    }

    func refuseToken(of tag: UInt64, credential: Int, now: WallTime) -> Bool {
        guard let sender = senders[credential] else { return false }
        sender.refuseToken(of: tag, now: now)
        return sender.isReady(now: now)
    }

    /// The ages of the tokens that were used, by the credentials' names.
    func tokenAges(now: WallTime) -> [String: Duration] {
        var ages: [String: Duration] = [:]
        for case let sender? in senders { ages[sender.credential.name] = sender.tokenAge(now: now) }
        return ages
    }

    /// The last failures of the credentials, for a person.
    var lastFailures: String {
        senders.compactMap { sender in
            sender.flatMap { sender in sender.lastFailure.map { "\(sender.credential.name): \($0)" } }
        }.joined(separator: "; ")
    }

    func cancel(_ tags: [UInt64]) {
        guard !tags.isEmpty else { return }
        for sender in senders { sender?.cancel(tags) }
    }

    func close() {
        for sender in senders { sender?.close() }
    }
}
