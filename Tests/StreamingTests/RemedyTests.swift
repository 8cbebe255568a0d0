import Testing

@testable import KafkaClient
@testable import Streaming

@Suite("What a worker does after an error")
struct RemedyTests {
    private func error(
        _ kind: KafkaError.Kind, of client: KafkaError.Client = .producer,
        recovery: KafkaError.Recovery = .abortTransaction
    ) -> KafkaError {
        KafkaError(kind: kind, recovery: recovery, of: client, name: "", message: "m")
    }

    private let tag: UInt64 = 12

    @Test("a refused record is looked for before anything else, by the first report that names one")
    func refusal() {
        let fatal = error(.fencedInstanceID)
        for kind in [KafkaError.Kind.messageTooLarge, .invalidRecord] {
            let report = error(kind)
            let remedy = Remedy(
                after: error(.other, of: .member, recovery: .recreateClient),
                refusals: [DeliveryFailure(tag: 11, error: error(.purged)), DeliveryFailure(tag: tag, error: report)],
                consumer: fatal)
            #expect(remedy == .isolate(.init(tag: tag, error: report)))
        }
    }

    @Test("a call that is refused without a report is about an unknown record")
    func refusedCall() {
        let refused = error(.messageTooLarge)
        #expect(
            Remedy(after: refused, refusals: [], consumer: nil) == .isolate(.init(tag: nil, error: refused)))
    }

    @Test("a consumer that has ended is replaced whatever else went wrong, and one whose own error it is as well")
    func consumer() {
        let fatal = error(.fencedInstanceID)
        for each in [error(.fenced), error(.offsetOutOfRange), error(.state, of: .member)] {
            #expect(
                Remedy(after: each, refusals: [], consumer: fatal) == .replaceFailedConsumer(fatal))
        }
        #expect(
            Remedy(after: .stuckConsumer, refusals: [], consumer: nil) == .replaceConsumer)
    }

    @Test("a consumer is replaced for an error of its own after which it is of no use, and for no other client's")
    func whose() {
        for client in [KafkaError.Client.member, .producer, .reader, .admin] {
            for recovery in [KafkaError.Recovery.retry, .abortTransaction, .recreateClient, .giveUp] {
                let remedy = Remedy(
                    after: error(.other, of: client, recovery: recovery), refusals: [], consumer: nil)
                let isReplaced = client == .member && recovery == .recreateClient
                #expect(remedy == (isReplaced ? .replaceConsumer : .rewind(isOutOfRange: false)))
            }
        }
    }

    @Test("anything else goes back to the committed offsets; out of range, by a new assignment")
    func rewind() {
        let kinds: [KafkaError.Kind] = [
            .authentication, .authorization, .unknownTopicOrPartition, .fenced, .outOfSequence, .queueFull, .timedOut,
            .transport, .allBrokersDown, .tls, .offsetMetadataTooLarge, .maxPollExceeded, .unknownMember,
            .rebalanceInProgress, .purged, .state, .other,
        ]
        for kind in kinds {
            let remedy = Remedy(after: error(kind), refusals: [], consumer: nil)
            #expect(remedy == .rewind(isOutOfRange: false), "\(kind)")
        }
        #expect(
            Remedy(after: error(.offsetOutOfRange), refusals: [], consumer: nil)
                == .rewind(isOutOfRange: true))
    }

    // MARK: A fenced producer

    private let rival = KafkaError(kind: .fencedInstanceID, recovery: .giveUp, name: "", message: "rival")

    @Test("a fenced producer whose consumer is fenced as well has a rival, unless a lost contact explains it")
    func rivals() {
        let fenced = error(.fenced)
        let now = ContinuousClock.now
        var fencings = Fencings()
        #expect(fencings.judge(fenced, consumer: rival, isStatic: true, now: now) == .slotTaken(rival))
        #expect(fencings.judge(fenced, consumer: error(.other), isStatic: true, now: now) == .newProducer)
        fencings.noteLostContact(now: now)
        #expect(fencings.judge(fenced, consumer: rival, isStatic: true, now: now) == .newProducer)
    }

    @Test(
        "the third fencing in 10 minutes is a defect of a static member; without static membership it may be a rival",
        arguments: [true, false])
    func thirdFencing(isStatic: Bool) {
        let fenced = error(.fenced)
        let now = ContinuousClock.now
        var fencings = Fencings()
        for second in [0, 300] {
            #expect(
                fencings.judge(fenced, consumer: nil, isStatic: isStatic, now: now + .seconds(second)) == .newProducer)
        }
        #expect(
            fencings.judge(fenced, consumer: nil, isStatic: isStatic, now: now + .seconds(599))
                == (isStatic ? .tooOften : .slotTaken(fenced)))
    }

    @Test(
        "a fencing after a transaction that outlasted its timeout is the worker's own doing, however often it happens",
        arguments: [true, false])
    func ownTimeout(isStatic: Bool) {
        let fenced = error(.fenced)
        let now = ContinuousClock.now
        var fencings = Fencings()
        fencings.isOwnTimeout = true
        for second in 0..<10 {
            #expect(
                fencings.judge(fenced, consumer: nil, isStatic: isStatic, now: now + .seconds(second)) == .newProducer)
        }
        #expect(fencings.judge(fenced, consumer: rival, isStatic: true, now: now) == .slotTaken(rival))
        fencings.isOwnTimeout = false
        #expect(fencings.judge(fenced, consumer: nil, isStatic: isStatic, now: now) == .newProducer)
    }

    @Test("a rival that was found does not count as a fencing of its own")
    func rivalIsNotCounted() {
        let fenced = error(.fenced)
        let now = ContinuousClock.now
        var fencings = Fencings()
        for _ in 0..<5 { _ = fencings.judge(fenced, consumer: rival, isStatic: true, now: now) }
        #expect(fencings.judge(fenced, consumer: nil, isStatic: true, now: now) == .newProducer)
    }
}
