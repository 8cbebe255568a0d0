import KafkaClient
import Replay

extension ExplanationReport: Report {
    var rows: [Row] {
        let kind =
            switch explanation.event.partition.source {
            case .orders: timer ? "timer at     " : "event        "
            case .requests: "request      "
            }
        var lines = ["\(time?.description ?? "?")  \(subject): \(told)", "  \(kind)\(source)"]
        if let position = explanation.deadLetter {
            lines.append("  dead letter  \(position.position(in: topics.deadLetters))")
        }
        if case .deadLetter(let letter) = explanation.outcome, !timer {
            lines.append(
                "  what to do   repair its cause, then put it back: 'carillon replay dead-letters --code \(letter.code.label) "
                    + "--dry-run' (docs/dead-letters.md)")
        }
        if let status { lines.append("  status       \(status)") }
        if let audiences, explanation.event.partition.source == .orders {
            let others = audiences.count > 5 ? " and \(audiences.count - 5) more" : ""
            lines.append("  audiences    \(audiences.prefix(5).joined(separator: ", "))\(others)")
        }
        if let subscribed { lines.append("  subscribed   \(subscribed)") }
        if !fields.isEmpty {
            let sources = fields.sorted { $0.key < $1.key }.map { "\($0.key) from \($0.value)" }
            lines.append("  fields       \(sources.joined(separator: ", "))")
        }
        for (reason, count) in explanation.settled.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            let number = reason.countsOrders ? "none will go" : "\(count) will not go"
            lines.append("  timers       \(number): \(reason.sentence)")
        }
        if let transaction {
            lines.append(
                "  transaction  offsets \(transaction.from) to \(transaction.to), clock \(transaction.clock), rules "
                    + "\(transaction.rules), \(transaction.journal)")
        } else {
            lines.append("  transaction  no journal says which; this is approximate")
        }
        for (id, count) in redrives.sorted(by: { $0.key < $1.key }) {
            lines.append("  re-driven    to \(ProgressLine.counted(count, "device")) by \(id)")
        }
        for push in pushes {
            lines.append("  \(push.messageID) to \(push.device.prefix(12))… \(found(push))")
            if let outcomes = push.outcomes {
                let positions = push.at + push.redriven.map(\.at)
                lines += PushOutcome.lines(outcomes, at: positions, in: topics.deliveries).map { "    \($0)" }
            }
            if let said = push.receipts, !said.isEmpty {
                lines.append("    its phone: " + said.map { "\($0.kind.rawValue) at \($0.at)" }.joined(separator: ", "))
            }
        }
        // Each URL once: of a list of orders there are several.
        for (index, push) in pushes.enumerated() {
            guard let url = push.opens, !pushes[..<index].contains(where: { $0.opens == url }) else { continue }
            lines.append("  a tap opens  \(url)")
        }
        let others = devices - pushes.count
        if !pushes.isEmpty, others > 0 { lines.append("  and to \(ProgressLine.counted(others, "device")) more") }
        return lines.map(Row.line)
    }

    private func found(_ push: Push) -> String {
        let positions = push.at.map(\.description).joined(separator: ", ")
        let own = positions.isEmpty ? "is not in \(topics.dispatch)" : "at \(positions)"
        let again = push.redriven.map { "re-driven by \($0.id) at \($0.at)" }
        return (push.at.isEmpty && !again.isEmpty ? again : [own] + again).joined(separator: ", ")
    }

    private var subject: String {
        if let audiences, explanation.event.partition.source == .requests {
            let others = audiences.count > 1 ? " and \(audiences.count - 1) more" : ""
            return "request" + (requestID.map { " \($0)" } ?? "")
                + (audiences.first.map { " to \($0)\(others)" } ?? "")
        }
        let type = eventType.map { String($0.trimmingPrefix("event_")) } ?? (timer ? "a timer" : "an event")
        return type + (orderID.map { " of order \($0)" } ?? "") + (placeID.map { " at place \($0)" } ?? "")
    }

    private var told: String {
        let devices = ProgressLine.counted(devices, "device")
        switch explanation.outcome {
        case .sent: return "sent to \(devices)" + (subscribed != nil && pushes.isEmpty ? ", not to this one" : "")
        case .notSent, .dropped: return "not sent: \(message ?? "")"
        case .deadLetter: return "not sent: a dead letter, \(reason ?? ""): \(message ?? "")"
        case .refused(let refusal):
            let position = refusal.position.position(in: topics.deadLetters)
            return "not sent to \(devices): \(refusal.code.label), \(refusal.message); dead letter at \(position)"
        case nil: return "not sent"
        }
    }
}
