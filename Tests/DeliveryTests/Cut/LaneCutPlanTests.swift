import Deliveries
import Testing

@testable import Delivery

@Suite("Cuts between lanes")
struct LaneCutPlanTests {
    private func group(_ lane: String, _ lanes: String?, members: Int = 0) -> LaneCutPlan.Group {
        let offset = lanes.map { LaneOffset(offset: 5, partitions: 2, lanes: $0, isClean: true, finished: []) }
        return .init(lane: lane, members: members, offsets: offset.map { [0: $0, 1: $0] } ?? [:])
    }

    private func judge(_ groups: [LaneCutPlan.Group], last: LaneCut? = nil) -> LaneCutPlan.Verdict {
        LaneCutPlan.judge(
            groups, lanes: "new", last: last,
            ends: [0: LaneEdge(orders: 10, broadcasts: 100), 1: LaneEdge(orders: 20, broadcasts: 200)])
    }

    private func cut(_ lanes: String = "new", _ orders: Int64...) -> LaneCut {
        LaneCut(
            lanes: lanes,
            edges: Dictionary(
                uniqueKeysWithValues: orders.enumerated().map { (Int32($0.offset), LaneEdge(orders: $0.element)) }))
    }

    @Test("Stopped lanes with other settings end at the ends of the topic")
    func cuts() {
        #expect(
            judge([group("fcm", "old"), group("apns", "old")]) == .cut(cut("new", 10, 20)))
    }

    @Test("Lanes that have committed with other settings are named: a lane with a new name must not begin beside them")
    func others() {
        let groups = [group("fcm", "old"), group("apns", "new"), group("courier", nil)]
        #expect(LaneCutPlan.others(groups, than: "new") == ["fcm"])
        #expect(LaneCutPlan.others(groups, than: "old") == ["apns"])
    }

    @Test("A lane that runs would send what is after the cut too")
    func running() {
        #expect(judge([group("fcm", "old", members: 1), group("apns", "old")]) == .running(["fcm"]))
    }

    @Test("Nothing is cut for lanes that have these settings, or that have never sent")
    func notNeeded() {
        #expect(judge([]) == .notNeeded)
        #expect(judge([group("fcm", "new", members: 2)]) == .notNeeded)
        #expect(judge([group("fcm", nil, members: 1)]) == .notNeeded)
    }

    @Test("The same cut is recorded once: the topic has gone on since")
    func recordedOnce() {
        let last = cut("new", 3, 4)
        #expect(judge([group("fcm", "old")], last: last) == .recorded(last))
    }

    @Test("A second cut waits until every lane has reached the first one")
    func unfinished() {
        let last = cut("between", 3, 4)
        #expect(judge([group("fcm", "between"), group("apns", "old")], last: last) == .unfinished(["apns"]))
        #expect(
            judge([group("fcm", "between"), group("apns", "between")], last: last)
                == .cut(cut("new", 10, 20)))
    }

    @Test("Where a lane has sent broadcasts the cut is in their topic too; before that the new lanes send all of them")
    func broadcasts() {
        var sender = group("fcm", "old")
        sender.broadcasts = [0: LaneOffset(offset: 7, partitions: 2, lanes: "old", isClean: true, finished: [])]
        #expect(
            judge([sender, group("apns", "old")])
                == .cut(
                    LaneCut(
                        lanes: "new",
                        edges: [
                            0: LaneEdge(orders: 10, broadcasts: 100), 1: LaneEdge(orders: 20, broadcasts: 200),
                        ])))
    }
}
