import Deliveries
import Pipeline

/// Where a lane begins in a partition, and where it ends.
struct LaneStart: Equatable, Sendable {
    enum Role: Equatable, Sendable {
        /// No cut concerns it.
        case current
        /// It began at a cut: records of retry topics that come from below are an older lane's.
        case new(from: LaneEdge)
        /// It sends what is below a cut, and ends; the lanes with the hash continue.
        case old(to: LaneEdge, next: String)
        /// The same, and it has ended.
        case ended
    }

    /// What the group has committed for a partition, where it begins for the first time, and the cut.
    struct Findings {
        var partition: Int32
        /// Of the dispatch topic; nil without a commit, or with metadata that no lane wrote.
        var committed: LaneOffset?
        /// Whether there is a commit whose metadata no lane wrote.
        var isForeign = false
        var partitions: Int32
        /// The hash of this process's map.
        var lanes: String
        var cut: LaneCut?
    }

    var role: Role
    /// Nil: at the offsets that the group has; else the first start.
    var begins: First?

    enum First: Equatable, Sendable {
        /// At `--from`, or at another group's offsets.
        case asTold
        /// At the cut.
        case at(LaneEdge)
    }

    /// - Throws: ``PipelineError/decisionNeeded(_:)`` with what a person has to do.
    init(_ found: Findings, lane: String) throws(PipelineError) {
        let place = "lane \(lane), partition \(found.partition)"
        if found.isForeign {
            throw .decisionNeeded(
                "\(place): the committed offset has metadata that no lane wrote; remove the group's offsets, and "
                    + "start it again with --from")
        }
        let cut = found.cut?.edges[found.partition].map { (lanes: found.cut?.lanes ?? "", edge: $0) }
        guard let dispatch = found.committed else {
            switch cut {
            case let cut? where cut.lanes == found.lanes:
                self.init(role: .new(from: cut.edge), begins: .at(cut.edge))
            case let cut?: self.init(role: .old(to: cut.edge, next: cut.lanes), begins: .asTold)
            case nil: self.init(role: .current, begins: .asTold)
            }
            return
        }
        guard dispatch.partitions == found.partitions else {
            throw .decisionNeeded(
                "\(place): the topic had \(dispatch.partitions) partitions and has \(found.partitions): keys are in "
                    + "other partitions now; let the lane end, remove its offsets, and start it again with --from")
        }
        switch (dispatch.lanes == found.lanes, cut) {
        case (true, let cut?) where cut.lanes == found.lanes: self.init(role: .new(from: cut.edge), begins: nil)
        case (true, let cut?): self.init(role: .old(to: cut.edge, next: cut.lanes), begins: nil)
        case (true, nil): self.init(role: .current, begins: nil)
        case (false, let cut?) where cut.lanes == dispatch.lanes: self.init(role: .ended, begins: nil)
        case (false, let cut?) where cut.lanes == found.lanes:
            throw .decisionNeeded(
                "\(place): the lanes as they were have not finished what is below the cut at offset \(cut.edge.orders): run "
                    + "`carillon deliver` with their settings until it ends")
        case (false, _):
            throw .decisionNeeded(
                "\(place): delivery.lanes or delivery.retry has changed: `carillon deliver lanes --cut`, with the new "
                    + "settings, records where the old lanes end")
        }
    }

    init(role: Role, begins: First?) {
        self.role = role
        self.begins = begins
    }
}
