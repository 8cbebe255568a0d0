import Deliveries

/// Whether a cut may be made now, and where (docs/delivery.md). Pure: the caller has asked the broker.
package struct LaneCutPlan: Equatable, Sendable {
    /// A lane's group, as the broker has it.
    package struct Group: Equatable, Sendable {
        package var lane: String
        package var members: Int
        /// Its commits in the dispatch topic, by partition.
        package var offsets: [Int32: LaneOffset]
        /// The same in the broadcasts' dispatch topic.
        package var broadcasts: [Int32: LaneOffset]
        /// Offsets of its retry topics from the first unfinished one on: other lanes' records and markers count too.
        package var retries: Int64

        package init(
            lane: String, members: Int, offsets: [Int32: LaneOffset], broadcasts: [Int32: LaneOffset] = [:],
            retries: Int64 = 0
        ) {
            self.lane = lane
            self.members = members
            self.offsets = offsets
            self.broadcasts = broadcasts
            self.retries = retries
        }
    }

    package enum Verdict: Equatable, Sendable {
        /// The old lanes end here and the new ones begin.
        case cut(LaneCut)
        /// It is recorded already.
        case recorded(LaneCut)
        /// Every lane has these settings already, or none has ever committed.
        case notNeeded
        /// These lanes run: what they send after the cut would be sent twice.
        case running([String])
        /// These lanes have not finished what is below the last cut.
        case unfinished([String])
    }

    /// - Parameters:
    ///   - lanes: the hash of the new settings.
    ///   - last: the last cut; nil without one.
    ///   - ends: the high watermarks of the dispatch topics.
    package static func judge(
        _ groups: [Group], lanes: String, last: LaneCut?, ends: [Int32: LaneEdge]
    ) -> Verdict {
        let committed = groups.filter { !$0.offsets.isEmpty }
        if let last, last.lanes == lanes { return .recorded(last) }
        guard !others(groups, than: lanes).isEmpty else { return .notNeeded }
        let running = committed.filter { $0.members > 0 }.map(\.lane)
        guard running.isEmpty else { return .running(running) }
        if let last {
            let unfinished = committed.filter { $0.offsets.values.contains { $0.lanes != last.lanes } }.map(\.lane)
            guard unfinished.isEmpty else { return .unfinished(unfinished) }
        }
        // Without a commit there no old lane sends broadcasts: the new ones send all of them.
        let sendBroadcasts = committed.contains { !$0.broadcasts.isEmpty }
        return .cut(
            LaneCut(
                lanes: lanes,
                edges: ends.mapValues { LaneEdge(orders: $0.orders, broadcasts: sendBroadcasts ? $0.broadcasts : 0) }))
    }

    /// The lanes that have committed with other settings than those with this hash.
    package static func others(_ groups: [Group], than lanes: String) -> [String] {
        groups.filter { $0.offsets.values.contains { $0.lanes != lanes } }.map(\.lane)
    }
}
