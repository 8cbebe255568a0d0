import Deliveries
import Pipeline
import Testing

@testable import Delivery

@Suite("Where a lane begins")
struct LaneStartTests {
    private func offset(_ offset: Int64, lanes: String = "aaaaaaaa", partitions: Int32 = 3) -> LaneOffset {
        LaneOffset(offset: offset, partitions: partitions, lanes: lanes, isClean: true, finished: [])
    }

    private func start(
        _ committed: LaneOffset?, cut: LaneCut? = nil, isForeign: Bool = false, partition: Int32 = 1
    ) throws(PipelineError) -> LaneStart {
        try LaneStart(
            LaneStart.Findings(
                partition: partition, committed: committed, isForeign: isForeign, partitions: 3,
                lanes: "aaaaaaaa", cut: cut), lane: "fcm")
    }

    private let edge = LaneEdge(orders: 50, broadcasts: 20)
    private let ours = LaneCut(lanes: "aaaaaaaa", edges: [1: LaneEdge(orders: 50, broadcasts: 20)])
    private let others = LaneCut(lanes: "bbbbbbbb", edges: [1: LaneEdge(orders: 50, broadcasts: 20)])

    @Test("A partition with a commit of these lanes continues there")
    func continues() throws {
        #expect(try start(offset(7)) == LaneStart(role: .current, begins: nil))
    }

    @Test("A first start begins where it is told, or at the cut that these lanes begin at")
    func firstStart() throws {
        #expect(try start(nil) == LaneStart(role: .current, begins: .asTold))
        #expect(try start(nil, cut: ours) == LaneStart(role: .new(from: edge), begins: .at(edge)))
    }

    @Test("Below a cut to other lanes these lanes finish what is left, and end there")
    func endsAtCut() throws {
        #expect(try start(offset(7), cut: others) == LaneStart(role: .old(to: edge, next: "bbbbbbbb"), begins: nil))
        #expect(try start(nil, cut: others) == LaneStart(role: .old(to: edge, next: "bbbbbbbb"), begins: .asTold))
        // What was handed over is nothing to them any more.
        #expect(try start(offset(50, lanes: "bbbbbbbb"), cut: others).role == .ended)
    }

    @Test("Lanes that began at a cut leave older retries to the older lanes")
    func newLanes() throws {
        #expect(try start(offset(60), cut: ours) == LaneStart(role: .new(from: edge), begins: nil))
    }

    @Test("A cut without this partition is none for it")
    func otherPartition() throws {
        #expect(
            try start(offset(7), cut: LaneCut(lanes: "bbbbbbbb", edges: [0: LaneEdge(orders: 50)])).role == .current)
    }

    @Test(
        "Changed lanes, partitions and metadata stop, and say what to do",
        arguments: [
            (LaneOffset(offset: 7, partitions: 3, lanes: "cccccccc", isClean: true, finished: []), "lanes --cut"),
            (LaneOffset(offset: 7, partitions: 4, lanes: "aaaaaaaa", isClean: true, finished: []), "4 partitions"),
        ])
    func stops(committed: LaneOffset, words: String) {
        let error = #expect(throws: PipelineError.self) { try start(committed) }
        guard case .decisionNeeded(let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains(words) && text.contains("lane fcm, partition 1"))
    }

    @Test("New lanes wait for the older ones of the same name to finish")
    func unfinished() {
        let error = #expect(throws: PipelineError.self) { try start(offset(40, lanes: "bbbbbbbb"), cut: ours) }
        #expect(error?.description.contains("have not finished what is below the cut at offset 50") == true)
    }

    @Test("An operator's reset has metadata that no lane wrote")
    func foreign() {
        let error = #expect(throws: PipelineError.self) { try start(nil, isForeign: true) }
        #expect(error?.description.contains("--from") == true)
    }

    @Test("The cut's metadata says which lanes begin")
    func metadata() {
        #expect(LaneCut.lanes(in: LaneCut.metadata(lanes: "aaaaaaaa")) == "aaaaaaaa")
        #expect(LaneCut.lanes(in: "") == nil)
    }

    @Test("A change of the lanes or of the retry topics is a change of lanes")
    func hash() throws {
        let first = DeliveryConfiguration()
        var retries = first
        retries.retries = [.seconds(10), .seconds(60)]
        var lanes = first
        lanes.lanes = try LaneMap("push:fcm,push:apns")
        #expect(Set([first.lanesHash, retries.lanesHash, lanes.lanesHash]).count == 3)
        #expect(first.lanesHash == DeliveryConfiguration().lanesHash)
    }
}
