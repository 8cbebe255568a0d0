import JSONReader

extension MemberMapping {
    /// Reads `{"order.id":["orderId","order_no"],"event_type":["kind"]}`: a list of paths for each key.
    ///
    /// - Throws: everything that is wrong with it.
    public init(json: [UInt8]) throws(InvalidForm) {
        self = try Form.read(json) { value, file in
            file.object(value, as: "it") { form in
                var body = MappedPaths(of: EventMember.self, known: Set(EventMember.allCases.map(\.rawValue)))
                var order = MappedPaths(of: OrderValue.self, known: OrderValue.knownPaths)
                var seen: Set<String> = []
                for (key, _) in form.members {
                    if !seen.insert(key).inserted {
                        form.problem("has the key '\(key)' twice")
                    } else if let member = EventMember(rawValue: key) {
                        body.add(form.texts(key), to: member, key, &form)
                    } else if key.hasPrefix(Self.prefix),
                        let field = OrderValue(rawValue: String(key.dropFirst(Self.prefix.count)))
                    {
                        order.add(form.texts(key), to: field, key, &form)
                    } else {
                        form.problem("has the key '\(key)'; allowed are \(Self.keys.joined(separator: ", "))")
                    }
                }
                body.refuseUnreachable(below: [EventMember.orders.rawValue, EventMember.orderIDs.rawValue], &form) {
                    $0.isObject
                }
                order.refuseUnreachable(below: [], &form) { _ in false }
                let count = body.count + order.count
                if count > Self.maxCount {
                    form.problem("has \(count) paths; at most \(Self.maxCount) are allowed")
                }
                return MemberMapping(body: body.paths, order: order.paths)
            }
        }
    }
}

extension EventMember {
    /// Whether its value is an object, in which there may be others.
    fileprivate var isObject: Bool {
        switch self {
        case .order, .slot: true
        case .orders, .orderIDs, .eventType, .eventID, .occurredAt, .placeID, .previousStatus, .newStatus, .startTime,
            .endTime, .deliveryDate:
            false
        }
    }
}

/// The paths that a file has so far for the members of one kind of object.
private struct MappedPaths<Member: Hashable> {
    private(set) var paths: [Member: [MemberPath]] = [:]
    /// In the order of the file: each path, the key that has it, and the member that the key names.
    private var entries: [(path: MemberPath, key: String, member: Member)] = []
    private let known: Set<String>

    var count: Int { entries.count }

    init(of type: Member.Type, known: Set<String>) {
        self.known = known
    }

    mutating func add(_ texts: [String], to member: Member, _ key: String, _ form: inout Form) {
        for text in texts {
            guard let path = MemberPath(text, mayBeList: false) else {
                form.problem(
                    "has '\(text)', which is no path: allowed are at most \(MemberPath.maxSteps) names with dots "
                        + "between, without {}[]*/, in at most \(MemberPath.maxCount) bytes", of: key)
                continue
            }
            if known.contains(text) {
                form.problem("has '\(text)', which is a known name: it is read without a mapping", of: key)
            } else if let other = entries.first(where: { $0.path == path }) {
                form.problem("has '\(text)', which \(form.path(of: other.key)) has already", of: key)
            }
            entries.append((path, key, member))
            paths[member, default: []].append(path)
        }
    }

    /// Notes the paths that lead through a list or through a member that another path says is a value: nothing is found
    /// there.
    ///
    /// - Parameters:
    ///   - lists: known names of lists.
    ///   - isObject: whether the member is an object.
    func refuseUnreachable(below lists: [String], _ form: inout Form, isObject: (Member) -> Bool) {
        for (path, key, _) in entries {
            if let list = lists.first(where: { path.text.hasPrefix($0 + ".") }) {
                form.problem("has '\(path.text)', which can never match: \(list) is a list", of: key)
            }
            if let other = entries.first(where: { !isObject($0.member) && path.text.hasPrefix($0.path.text + ".") }) {
                form.problem(
                    "has '\(path.text)', which can never match: \(form.path(of: other.key)) has '\(other.path.text)', "
                        + "which is no object", of: key)
            }
        }
    }
}
