import JSONReader
import NotificationPayload

/// Turns the bytes of a request into a notification, by docs/rules.md §8 to §10.
///
/// Pure: the same record gives the same bytes; time comes from the record. One owner, any thread. Allocates nothing per
/// request once its buffers fit the largest one.
package struct RequestExtractor: ~Copyable {
    /// The oddities since the owner last reset them.
    package var notes = RequestNotes()

    let rules: RequestRules
    let types: KnownAppTypes
    var envelopes = EnvelopeReader()
    private var identity = MessageIdentity()
    var arena = TextArena()
    /// Those of the request that is being read.
    var audiences = DistinctTexts()
    var custom = CustomMembers()
    var oddities = RequestNotes()

    package init(rules: RequestRules) {
        self.rules = rules
        types = KnownAppTypes(rules.appTypes)
    }

    /// Extracts `batch.records[record]` and appends its notification, what it says, its audiences and their text.
    ///
    /// Never throws and never traps, whatever the bytes. Unless it returns `.notifications`, the batch is unchanged.
    /// One request appends at most 80 MB of text, so stop at ``EventBatch/isFull``.
    package mutating func extract(_ record: Int, in batch: inout EventBatch) -> ExtractionOutcome {
        do throws(DeadLetter) {
            let request = try read(record, in: batch)
            append(request, to: &batch)
            notes.add(oddities)
            return .notifications(1)
        } catch {
            return .deadLetter(error)
        }
    }

    /// Reads and checks the whole request, in this order: the first problem is the dead letter's.
    private mutating func read(_ record: Int, in batch: borrowing EventBatch) throws(DeadLetter) -> Request {
        guard let value = batch.records[record].value else { throw .nullValue }
        arena.truncate()
        oddities = RequestNotes()
        var attributes = RecordHeaders()
        let headers = batch.records[record].headers
        if !headers.isEmpty {
            attributes = RecordHeaders(batch.headers[headers])
            if attributes.lacksValidTraceparent { oddities.ignoredTraceparents += 1 }
        }
        let members = try envelopes.body(of: value, attributes: &attributes, texts: &arena) { RequestMembers($0) }
        try members.refuseUnknownMembers()
        let requestedAt = try members.time(.requestedAt)
        let expiresAt = try members.time(.expiresAt)
        try beginIdentity(of: members, attributes: attributes, record: record, in: batch)
        let collapseKey = try members.string(.collapseKey)
        let priority = try priority(of: members)
        try readAudiences(of: members)
        let (kind, content) = try content(of: members)

        let moment = requestedAt ?? attributes.ceTime.flatMap { Moment($0)?.eventTime }
        let timestamp = batch.records[record].clampedTime
        let eventTime = moment ?? timestamp
        let byDefault = eventTime + rules.timeToLive.wholeMilliseconds
        let expiry = expiresAt ?? content.validUntil ?? byDefault
        let ignoresExpiry = rules.ignoresValidUntil && content.validUntil != nil
        // A request with an id of its own that is sent twice has one message id.
        let identityTime = moment ?? (identity.isOwn ? .epoch : timestamp)
        identity.end(type: UnsafeRawBufferPointer(kind.name))
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        let messageID = arena.make { identity.write(orderID: none, eventTime: identityTime, to: $0) }
        return Request(
            record: record, traceparent: attributes.traceparent, kind: kind, messageID: messageID, eventTime: eventTime,
            expiresAt: expiry,
            fcmExpiresAt: ignoresExpiry ? byDefault : expiry, collapseKey: collapseKey ?? content.collapseKey,
            priority: priority ?? (content.isSilent ? .normal : .high), content: content)
    }

    /// Exactly one of the two objects.
    private mutating func content(
        of members: RequestMembers
    ) throws(DeadLetter) -> (RequestNotification.Content, RequestContent) {
        switch (members.present(.app) != nil, members.present(.message) != nil) {
        case (false, false): throw .noContent
        case (true, true): throw .twoContents
        case (true, false):
            return (.app, try readApp(AppMembers(try members.object(.app))))
        case (false, true):
            let message = MessageMembers(try members.object(.message))
            let content = try readMessage(message)
            if members.present(.collapseKey) != nil, content.collapseKey != nil {
                throw .bothThere("collapse_key", "message.collapseKey")
            }
            if members.present(.expiresAt) != nil, content.validUntil != nil {
                throw .bothThere("expires_at", "message.validUntil")
            }
            return (.message, content)
        }
    }

    private func priority(of members: RequestMembers) throws(DeadLetter) -> RequestNotification.Priority? {
        guard let value = members.present(.priority) else { return nil }
        if let text = value.string {
            if text == "high" { return .high }
            if text == "normal" { return .normal }
        }
        throw members.wrong(.priority, .priority)
    }

    /// The identity of the request: the first source that is present (docs/rules.md §6).
    private mutating func beginIdentity(
        of members: RequestMembers, attributes: RecordHeaders, record: Int, in batch: borrowing EventBatch
    ) throws(DeadLetter) {
        if let value = members.present(.requestID) {
            guard let id = arena.text(value) else { throw members.wrong(.requestID, .text) }
            identity.begin(tag: "request")
            identity.append(id)
        } else if let source = attributes.ceSource, let id = attributes.ceID {
            identity.begin(tag: "request")
            identity.append(source)
            identity.append(id)
        } else if let id = attributes.outboxID {
            identity.begin(tag: "request")
            identity.append(id)
        } else {
            identity.begin(tag: "request", coordinatesOf: record, in: batch, attributes: attributes)
        }
    }
}

extension RequestNotification.Content {
    /// As it is part of a message id.
    fileprivate var name: StaticString {
        switch self {
        case .app: "app"
        case .message: "message"
        }
    }
}
