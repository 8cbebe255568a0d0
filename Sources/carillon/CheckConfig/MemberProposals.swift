import Notifications

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
    private let mapping: [String: [String]]

    /// - Parameter mapping: what `events.members` says already.
    init(_ survey: SurveyedEvents, beside mapping: [String: [String]]) {
        self.survey = survey
        self.mapping = mapping
        var body = Names(survey.paths)
        guard survey.eventsWithOrder == 0 else {
            let order = body.split(
                behind: paths(of: "order").map { "\($0)." } + paths(of: "orders").map { "\($0)[*]." })
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
        proposals = members(ofEvent: body, ofOrder: body, areOne: true)
    }

    private static func isID(_ proposal: Proposal) -> Bool {
        proposal.key == "order.id" || proposal.key == "order.order_number"
    }

    /// One for each member that no event has. A path is proposed once.
    ///
    /// - Parameter areOne: whether the paths of both begin at the body.
    private func members(ofEvent event: Names, ofOrder order: Names, areOne: Bool = false) -> [Proposal] {
        var found: [Proposal] = []
        func propose(_ member: KnownMember, in names: Names, without taken: inout Set<String>) {
            guard let (path, events) = names.nearest(to: member).first(where: { !taken.contains($0.path) }) else {
                return
            }
            taken.insert(path)
            found.append(Proposal(key: member.key, path: path, events: events))
        }
        var taken = Set(mapping.values.joined())
        let mapped = taken
        for member in KnownMember.ofOrder {
            let ofEvent = member.ofEvent.map(paths(of:)) ?? []
            let ofOrder = member.known.flatMap { [$0] + (mapping["order.\($0)"] ?? []) }
            if !event.hasOne(of: ofEvent), !order.hasOne(of: ofOrder) { propose(member, in: order, without: &taken) }
        }
        // In a body that is the order, `id` is the order's.
        taken = areOne ? taken.union(["id"]) : mapped
        for member in KnownMember.ofEvent where !event.hasOne(of: paths(of: member.key)) {
            if member.key != "event_type" || survey.typed == 0 { propose(member, in: event, without: &taken) }
        }
        return found
    }

    /// Where a member of the body is looked for.
    private func paths(of key: String) -> [String] { [key] + (mapping[key] ?? []) }
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
