import KafkaClient
import Testing

@testable import Streaming

@Suite("What a worker does after an error")
struct RemedyTests {
    private func error(
        _ kind: KafkaError.Kind, of client: KafkaError.Client = .producer,
        recovery: KafkaError.Recovery = .abortTransaction
    ) -> KafkaError {
        KafkaError(kind: kind, recovery: recovery, of: client, name: "", message: "m")
    }

    private let event = "orders/1/2"

    @Test("a refused record is looked for before anything else, by the first report that names one")
    func refusal() {
        let fatal = error(.fencedInstanceID)
        for kind in [KafkaError.Kind.messageTooLarge, .invalidRecord] {
            let report = error(kind)
            let purged = "orders/1/1"
            let remedy = Remedy<String>(
                after: error(.other, of: .member, recovery: .recreateClient),
                refusals: [(purged, error(.purged)), (event, report)], alone: nil,
                consumer: fatal)
            #expect(remedy == .isolate(.init(event: event, error: report)))
        }
    }

    @Test("a call that is refused without a report is about the only event of the transaction, or an unknown one")
    func refusedCall() {
        let refused = error(.messageTooLarge)
        #expect(
            Remedy<String>(after: refused, refusals: [], alone: event, consumer: nil)
                == .isolate(.init(event: event, error: refused)))
        #expect(
            Remedy<String>(after: refused, refusals: [], alone: nil, consumer: nil)
                == .isolate(.init(event: nil, error: refused)))
    }

    @Test("a consumer that has ended is replaced whatever else went wrong, and one whose own error it is as well")
    func consumer() {
        let fatal = error(.fencedInstanceID)
        for each in [error(.fenced), error(.offsetOutOfRange), error(.state, of: .member)] {
            #expect(
                Remedy<String>(after: each, refusals: [], alone: nil, consumer: fatal) == .replaceFailedConsumer(fatal))
        }
        #expect(
            Remedy<String>(after: .stuckConsumer, refusals: [], alone: event, consumer: nil) == .replaceConsumer)
    }

    @Test("a consumer is replaced for an error of its own after which it is of no use, and for no other client's")
    func whose() {
        for client in [KafkaError.Client.member, .producer, .reader, .admin] {
            for recovery in [KafkaError.Recovery.retry, .abortTransaction, .recreateClient, .giveUp] {
                let remedy = Remedy<String>(
                    after: error(.other, of: client, recovery: recovery), refusals: [], alone: nil, consumer: nil)
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
            let remedy = Remedy<String>(after: error(kind), refusals: [], alone: event, consumer: nil)
            #expect(remedy == .rewind(isOutOfRange: false), "\(kind)")
        }
        #expect(
            Remedy<String>(after: error(.offsetOutOfRange), refusals: [], alone: nil, consumer: nil)
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
