import CarillonTesting
import Digests
import JSONReader
import Notifications
import Pipeline
import TestSupport
import Testing

@testable import Registrar
@testable import Replay

extension SuppressionList {
    /// Of one person with these addresses.
    init(_ person: ByteText, _ tokens: [String], at time: WallTime) {
        self.init()
        var reader = JSONReader()
        let addresses = Dictionary(uniqueKeysWithValues: tokens.map { (AddressHash(of: $0), time) })
        let erasure = Erasure(PersonHash(person), at: time, addresses: addresses)
        take(key: Array(erasure.person.hex.utf8), value: erasure.json, &reader)
    }
}

@Suite("What a replay writes of whom was erased")
struct UnerasedSinkTests {
    private func replayed(
        _ toy: borrowing ToyPipeline, _ erased: SuppressionList, view: SubscriptionHistory.View = .asOfEvent
    ) throws -> (pushes: [RenderedRecord], leftOut: Int) {
        let run = try ReplayRun(toy)
        let sink = try run.perform(
            toy, try run.plan(toy), view: view, into: UnerasedSink(RecordingSink(), erased))
        return (sink.base.pushes, sink.leftOut)
    }

    private func ask(_ toy: inout ToyPipeline, _ id: String, _ audience: String) throws {
        toy.pass(ToyPipeline.minute)
        toy.ask(
            SampleRecord(
                value:
                    #"{"request_id":"\#(id)","audience":"\#(audience)","message":{"title":"T"}}"#
            ))
        try toy.transact([], requests: [10])
    }

    @Test(
        "a push of a person, or to an address, that was erased after it is left out, whoever is subscribed by now",
        arguments: SubscriptionHistory.View.allCases)
    func leftOut(view: SubscriptionHistory.View) throws {
        var toy = try ToyPipeline()
        try toy.subscribe("token-1", toAudience: "user/17")
        try toy.subscribe("token-2", toAudience: "place/7")
        try ask(&toy, "a", "user/17")
        try ask(&toy, "b", "place/7")
        let erased = toy.clock
        try ask(&toy, "c", "user/17")
        try ask(&toy, "d", "place/7")
        #expect(toy.pushes.count == 4)
        let ofPerson = try replayed(toy, SuppressionList("17", [], at: erased), view: view)
        #expect(ofPerson.pushes == Array(toy.pushes[1...]) && ofPerson.leftOut == 1)
        let ofBoth = try replayed(toy, SuppressionList("17", ["token-2"], at: erased), view: view)
        // What came after the erasure is of who came back.
        #expect(ofBoth.pushes == Array(toy.pushes[2...]) && ofBoth.leftOut == 2)
        let ofAll = try replayed(toy, SuppressionList("17", ["token-1", "token-2"], at: toy.clock), view: view)
        #expect(ofAll.pushes.isEmpty && ofAll.leftOut == 4)
    }

    @Test("without an erasure a replay writes everything, letters and reasons as well", arguments: UInt64(70)..<72)
    func everything(seed: UInt64) throws {
        let toy = try ToyPipeline.lived(seed: seed)
        let run = try ReplayRun(toy)
        let plain = try run.perform(toy, try run.plan(toy), into: RecordingSink())
        let erased = SuppressionList("17", ["nobody's"], at: toy.clock)
        let sink = try run.perform(toy, try run.plan(toy), into: UnerasedSink(RecordingSink(), erased))
        #expect(sink.base.pushes == plain.pushes && sink.base.letters == plain.letters, "seed \(seed)")
        #expect(sink.base.reasons == plain.reasons && sink.leftOut == 0, "seed \(seed)")
    }
}
