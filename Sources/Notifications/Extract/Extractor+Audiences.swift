import JSONReader
import NotificationPayload

extension Extractor {
    /// The most audiences of one notification, as of one request (docs/rules.md §5.4).
    private static var maxAudiences: Int { 1_000 }

    /// Appends the audiences of a notification, by the templates of its type.
    ///
    /// - Parameters:
    ///   - order: the order's object; nil where there is none.
    ///   - place: empty where there is none.
    /// - Returns: where they are in ``EventBatch/audiences``; empty: `place/` and the place, which is not resolved here.
    mutating func appendAudiences(
        of type: OrderEventType, _ order: JSONValue?, id: UnsafeRawBufferPointer?, place: UnsafeRawBufferPointer,
        to batch: inout EventBatch
    ) throws(DeadLetter) -> Range<Int32> {
        if audiences.isPlaceAlone(type) { return 0..<0 }
        let first = batch.audiences.count
        for index in audiences.range(of: type) {
            let position = audiences.position(index)
            let kind = audiences.all[position].kind
            guard let path = audiences.all[position].path else {
                append(kind, place, position, to: &batch)
                continue
            }
            let value = path.value(in: order)
            guard path.isList else {
                append(kind, value, position, to: &batch)
                continue
            }
            guard var elements = value?.elements, let one = elements.next() else {
                notes.missingAudiences[position] += 1
                continue
            }
            var element: JSONValue? = one
            while let each = element {
                append(kind, path.value(inElement: each), position, to: &batch)
                guard batch.audiences.count - first <= Self.maxAudiences else {
                    throw .tooManyAudiences(orderID: id, by: audiences.texts(of: type), limit: Self.maxAudiences)
                }
                element = elements.next()
            }
        }
        guard batch.audiences.count > first else {
            throw .noAudience(orderID: id, by: audiences.texts(of: type))
        }
        return Int32(first)..<Int32(batch.audiences.count)
    }

    /// A text or a number is an id; anything else is left out.
    private mutating func append(_ kind: Audience, _ value: JSONValue?, _ position: Int, to batch: inout EventBatch) {
        let textCount = arena.count
        append(kind, arena.text(value) ?? UnsafeRawBufferPointer(start: nil, count: 0), position, to: &batch)
        arena.truncate(to: textCount)
    }

    private mutating func append(
        _ kind: Audience, _ id: UnsafeRawBufferPointer, _ position: Int, to batch: inout EventBatch
    ) {
        if !batch.append(kind, id: id) { notes.missingAudiences[position] += 1 }
    }
}
