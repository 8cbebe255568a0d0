import KafkaClient
import Pipeline

extension TopicPlan {
    /// The differences of an existing topic from the plan, one line each.
    ///
    /// Partitions and replication factor are compared only if they were requested, because a topic may well have more;
    /// partitions always, where their number is fixed.
    func differences(from found: TopicDescription, partitions: Int?, replicationFactor: Int?) -> [String] {
        var lines: [String] = []
        if let fixedPartitions {
            if found.partitions != Int32(self.partitions) {
                lines.append(
                    "\(name): partitions is \(found.partitions), not \(self.partitions): \(fixedPartitions)")
            }
        } else if let partitions, found.partitions != Int32(partitions) {
            lines.append("\(name): partitions is \(found.partitions), not \(partitions)")
        }
        if let replicationFactor, found.replicationFactor != Int32(replicationFactor) {
            lines.append("\(name): the replication factor is \(found.replicationFactor), not \(replicationFactor)")
        }
        lines += findings(in: found) { !$0.isAdvised }
        if let text = found.configuration["min.insync.replicas"], let replicas = Int32(text),
            replicas > found.replicationFactor
        {
            lines.append(
                "\(name): min.insync.replicas is \(replicas), more than the \(found.replicationFactor) replicas")
        }
        return lines
    }

    /// What would be better in an existing topic, one line each.
    func advice(on found: TopicDescription) -> [String] { findings(in: found, where: \.isAdvised) }

    /// Why a topic that has ids of people, or addresses, never forgets them; nil: it does, or ``differences`` says so.
    func memory(of found: TopicDescription) -> String? {
        guard !found.configuration.isEmpty, TopicMemory.time(found.configuration) == nil,
            !properties.contains(where: { $0.isBound })
        else { return nil }
        return "\(name): its settings bound no retention: an erased person stays in it for ever"
    }

    private func findings(in found: TopicDescription, where isMeant: (Property) -> Bool) -> [String] {
        properties.filter(isMeant).compactMap { property in
            // A value that the broker does not report (an ACL may forbid it) is not a difference.
            guard let value = found.configuration[property.key] else { return nil }
            return property.difference(from: value).map {
                "\(name): \(property.key) is \(value), \($0): \(property.reason)"
            }
        }
    }
}

extension TopicPlan.Property {
    fileprivate var isBound: Bool {
        switch rule {
        case .bounded: true
        case .initial, .exactly, .advised, .atLeast, .atMost: false
        }
    }

    fileprivate var isAdvised: Bool {
        switch rule {
        case .advised: true
        case .initial, .exactly, .bounded, .atLeast, .atMost: false
        }
    }

    /// `not delete`, `less than 604800000`; nil if the value is right.
    fileprivate func difference(from value: String) -> String? {
        func words(_ text: String) -> Set<Substring> { Set(text.split(separator: ",")) }
        func number(_ text: String) -> Int64? { Int64(text).map { $0 == -1 ? .max : $0 } }
        switch rule {
        case .initial: return nil
        // The order of several cleanup policies means nothing.
        case .exactly, .advised: return words(value) == words(self.value) ? nil : "not \(self.value)"
        case .bounded:
            guard let found = number(value) else { return "not a number" }
            return found == .max ? "no bound" : nil
        case .atLeast(let least):
            guard let found = number(value) else { return "not a number" }
            return found < (least == -1 ? .max : least) ? "less than \(least)" : nil
        case .atMost(let most):
            guard let found = number(value) else { return "not a number" }
            return found > most ? "more than \(most)" : nil
        }
    }
}
