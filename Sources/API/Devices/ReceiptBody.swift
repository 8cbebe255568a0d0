import JSONReader
import Notifications
import Pipeline

/// The body of a POST of receipts: `{"receipts":[{"message_id","kind","at"}]}`.
enum ReceiptBody {
    struct Item: Equatable, Sendable {
        var messageID: String
        var kind: Receipt.Kind
        /// By the phone's clock.
        var at: WallTime
    }

    /// In one request.
    static let most = 100
    /// No push lives longer, so that nothing older is said of one; clocks differ. In milliseconds.
    static let oldest: Int64 = 35 * 86_400_000
    static let latest: Int64 = 86_400_000

    /// - Throws: everything that is wrong with it.
    static func read(_ bytes: [UInt8], now: WallTime) throws(Problem) -> [Item] {
        var reader = JSONReader()
        var (repeated, faults): ([Problem.Fault], [Problem.Fault]) = ([], [])
        let items = try JSONBody.read(bytes, &reader, &repeated) { value throws(Problem) -> [Item] in
            guard value.isObject, let list = value.member("receipts"), list.isArray else {
                throw Problem(.badRequest, "the body has no receipts; allowed is an object with a list of 1 to \(most)")
            }
            var items: [Item] = []
            var count = 0
            var elements = list.elements
            while let element = elements.next() {
                if let item = item(element, at: count, now: now, &faults) { items.append(item) }
                count += 1
                guard count <= most else { throw Problem(.badRequest, "receipts has too many; allowed are \(most)") }
            }
            guard count > 0 else { throw Problem(.badRequest, "receipts is empty; allowed are 1 to \(most)") }
            return items
        }
        if let problem = Problem(repeated + faults) { throw problem }
        return items
    }

    private static func item(
        _ value: JSONValue, at index: Int, now: WallTime, _ faults: inout [Problem.Fault]
    ) -> Item? {
        func fault(_ member: String, _ detail: String) {
            guard faults.count < Problem.mostFaults else { return }
            faults.append(Problem.Fault(pointer: "/receipts/\(index)\(member)", .badRequest, detail: detail))
        }
        guard value.isObject else {
            fault("", "it is no object; allowed is one with message_id, kind and at")
            return nil
        }
        var (messageID, kind, at): (String?, Receipt.Kind?, WallTime?)
        var members = value.members
        while let (name, value) = members.next() {
            let member = String(name)
            switch member {
            case "message_id":
                messageID = value.string.map { String($0) }.flatMap { isMessageID($0) ? $0 : nil }
            case "kind": kind = value.string.flatMap { Receipt.Kind(rawValue: String($0)) }
            case "at":
                at = WallTime(value).flatMap { (now - oldest...now + latest).contains($0) ? $0 : nil }
            default:
                fault(
                    "/" + RequestFinding.escape(member),
                    "there is no such member; allowed are message_id, kind and at")
            }
        }
        if messageID == nil { fault("/message_id", "message_id is missing, or none of a push") }
        if kind == nil {
            let kinds = Receipt.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            fault("/kind", "kind is missing, or none; allowed are \(kinds)")
        }
        if at == nil {
            fault("/at", "at is missing, no ISO 8601 time, more than 35 days ago, or more than a day ahead")
        }
        guard let messageID, let kind, let at else { return nil }
        return Item(messageID: messageID, kind: kind, at: at)
    }

    /// Visible ASCII: ids are Carillon's own.
    private static func isMessageID(_ text: String) -> Bool {
        (1...Receipt.mostText).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
