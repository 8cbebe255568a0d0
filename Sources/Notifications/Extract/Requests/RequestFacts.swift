import JSONReader

/// The members of a request by which people look for it, whether the request is right or not.
package struct RequestFacts: Equatable, Sendable {
    /// Its own id; without one, that of its envelope.
    package var id: String?
    /// As it names them; what is no string is left out.
    package var audiences: [String] = []
    /// Nil where it has neither object.
    package var content: RequestNotification.Content?
    /// The order that it carries for a link.
    package var orderID: String?
}

extension RequestExtractor {
    /// Reads the facts of a record; there are none in a value that cannot be read. Allocates: not for the hot path.
    package mutating func facts(of record: Int, in batch: borrowing EventBatch) -> RequestFacts {
        var facts = RequestFacts()
        guard let value = batch.records[record].value else { return facts }
        arena.truncate()
        var attributes = RecordHeaders(batch.headers[batch.records[record].headers])
        guard
            let members = try? envelopes.body(
                of: value, attributes: &attributes, texts: &arena, members: { RequestMembers($0) })
        else { return facts }
        let id = arena.text(members.present(.requestID)) ?? attributes.ceID ?? attributes.outboxID
        facts.id = id.map { String(decoding: $0, as: UTF8.self) }
        if let audience = members.present(.audience) {
            if let name = audience.string { facts.audiences.append(String(decoding: name.bytes, as: UTF8.self)) }
            if audience.isArray {
                var elements = audience.elements
                while let element = elements.next() {
                    if let name = element.string { facts.audiences.append(String(decoding: name.bytes, as: UTF8.self)) }
                }
            }
        }
        if let app = members.present(.app) {
            facts.content = .app
            facts.orderID = orderID(in: AppMembers(app).present(.data))
        } else if let message = members.present(.message) {
            facts.content = .message
            facts.orderID = orderID(in: MessageMembers(message).present(.extras))
        }
        return facts
    }

    private mutating func orderID(in object: JSONValue?) -> String? {
        arena.text(object?.member("order_id")).map { String(decoding: $0, as: UTF8.self) }
    }
}
