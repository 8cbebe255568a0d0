import KafkaClient
import Testing

@testable import Streaming

@Suite("Fencings: another process, or this one's own doing")
struct FencingsTests {
    @Test("the third fencing within 10 minutes is one too many, the third within an hour is not")
    func fencings() {
        var fencings = Fencings()
        let start = ContinuousClock.now
        var verdicts: [Bool] = []
        for seconds in [0, 700, 1_200, 1_250] { verdicts.append(fencings.isTooMany(now: start + .seconds(seconds))) }
        #expect(verdicts == [false, false, false, true])
    }

    @Test("a static member that was fenced within a minute of a lost contact may have done it itself")
    func ownDoing() {
        var fencings = Fencings()
        let start = ContinuousClock.now
        #expect(!fencings.mayBeOwnDoing(now: start))
        fencings.noteLostContact(now: start)
        #expect(fencings.mayBeOwnDoing(now: start + .seconds(59)))
        #expect(!fencings.mayBeOwnDoing(now: start + .seconds(60)))
    }

    @Test(
        "a lost contact explains one fencing, and as many as there are: brokers that restart one by one end no worker")
    func explainedOnce() {
        var fencings = Fencings()
        let start = ContinuousClock.now
        var verdicts: [Bool] = []
        for seconds in [0, 20, 40, 60] {
            fencings.noteLostContact(now: start + .seconds(seconds))
            verdicts.append(fencings.mayBeOwnDoing(now: start + .seconds(seconds + 5)))
            fencings.noteNewConsumer()
        }
        #expect(verdicts == [true, true, true, true])
        #expect(!fencings.mayBeOwnDoing(now: start + .seconds(66)))
    }

    @Test(
        "a call that got no answer counts as lost contact, before the consumer has been heard of it",
        arguments: [(.timedOut, true), (.transport, true), (.allBrokersDown, true), (.fenced, false), (.other, false)]
            as [(KafkaError.Kind, Bool)])
    func unansweredCall(kind: KafkaError.Kind, isLostContact: Bool) {
        var fencings = Fencings()
        fencings.consider(KafkaError(kind: kind, recovery: .abortTransaction, name: "", message: ""))
        #expect(fencings.mayBeOwnDoing() == isLostContact)
    }
}
