import Extraction

/// Which names of a shop's events are probably members that the settings do not find: the nearest ones.
struct MemberProposals {
    struct Proposal: Encodable, Equatable {
        /// The key in `events.members`.
        var key: String
        /// The path of the shop.
        var path: String
        /// How many of the events have it.
        var events: Int
    }

    private(set) var proposals: [Proposal] = []
    private let survey: SurveyedEvents

    init(_ survey: SurveyedEvents) {
        self.survey = survey
        var body = Names(survey.paths)
        guard survey.eventsWithOrder == 0 else {
            let order = body.split(behind: ["order.", "orders[*]."])
            proposals = members(ofEvent: body, ofOrder: order)
            return
        }
        // The order is the body itself, or it is somewhere inside.
        for (path, events) in body.nearest(to: .order) {
            var rest = body
            let order = rest.split(behind: [path + "."])
            let inside = members(ofEvent: rest, ofOrder: order)
            let isOrder = order.hasOne(of: ["id"]) && !body.hasOne(of: ["order_number", "place_id"])
            if isOrder || order.hasOne(of: ["order_number"]) || inside.contains(where: Self.isID) {
                proposals = [Proposal(key: KnownMember.order.key, path: path, events: events)] + inside
                return
            }
        }
        // The paths of both begin at the body, where `id` is the order's.
        proposals = members(ofEvent: body, ofOrder: body, without: ["id"])
    }

    private static func isID(_ proposal: Proposal) -> Bool {
        proposal.key == "order.id" || proposal.key == "order.order_number"
    }

    /// One for each member that no event has. A path is proposed once.
    private func members(
        ofEvent event: Names, ofOrder order: Names, without paths: Set<String> = []
    ) -> [Proposal] {
        var found: [Proposal] = []
        var taken = paths
        func propose(_ member: KnownMember, in names: Names) {
            guard let (path, events) = names.nearest(to: member).first(where: { !taken.contains($0.path) }) else {
                return
            }
            taken.insert(path)
            found.append(Proposal(key: member.key, path: path, events: events))
        }
        for member in KnownMember.ofOrder {
            let isAnswered =
                switch member.key {
                case "order.place_id": event.hasOne(of: ["place_id"])
                case "order.status": event.hasOne(of: ["new_status"])
                default: false
                }
            if !isAnswered, !order.hasOne(of: member.known) { propose(member, in: order) }
        }
        for member in KnownMember.ofEvent where !event.hasOne(of: [member.key]) {
            if member.key != "event_type" || survey.typed == 0 { propose(member, in: event) }
        }
        return found
    }
}

/// Paths, what they lead to, and how many events have them.
private struct Names {
    private var counts: [SurveyedPath: Int]

    init(_ counts: [SurveyedPath: Int]) { self.counts = counts }

    func hasOne(of paths: [String]) -> Bool { counts.keys.contains { paths.contains($0.text) } }

    /// Takes out the paths that begin with one of these, and returns the rest of each.
    mutating func split(behind prefixes: [String]) -> Names {
        var inside = Names([:])
        for (path, count) in counts {
            guard let prefix = prefixes.first(where: path.text.hasPrefix) else { continue }
            inside.counts[SurveyedPath(String(path.text.dropFirst(prefix.count)), path.kind), default: 0] += count
            counts[path] = nil
        }
        return inside
    }

    /// The paths that may be a member, the likeliest first.
    func nearest(to member: KnownMember) -> [(path: String, events: Int)] {
        counts.compactMap { path, count -> (distance: Int, path: String, events: Int)? in
            guard path.kind == member.kind, !path.text.contains("[*]") else { return nil }
            return member.distance(of: path.text.split(separator: ".")).map { ($0, path.text, count) }
        }
        .sorted { ($0.distance, -$0.events, $0.path) < ($1.distance, -$1.events, $1.path) }
        .map { ($0.path, $0.events) }
    }
}
