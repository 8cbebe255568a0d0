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
    /// Gets everything that is wrong with the request that is read; nil: its first problem is enough.
    let findings: RequestFindings?
    var envelopes = EnvelopeReader()
    private var identity = MessageIdentity()
    var arena = TextArena()
    /// Those of the request that is being read.
    var audiences = DistinctTexts()
    var custom = CustomMembers()
    var oddities = RequestNotes()

    package init(rules: RequestRules, findings: RequestFindings? = nil) {
        self.rules = rules
        self.findings = findings
        types = KnownAppTypes(rules.appTypes)
    }

    /// The same, each request by itself.
    package mutating func extract(_ record: Int, in batch: inout EventBatch) -> ExtractionOutcome {
        var nothing = NoHistory()
        return extract(record, in: &batch, history: &nothing)
    }

    /// Extracts `batch.records[record]` and appends its notification, what it says, its audiences and their text.
    ///
    /// Never throws and never traps, whatever the bytes. Unless it returns `.notifications`, the batch is unchanged.
    /// One request appends at most 80 MB of text, so stop at ``EventBatch/isFull``.
    package mutating func extract<History: RequestHistory & ~Copyable>(
        _ record: Int, in batch: inout EventBatch, history: inout History
    ) -> ExtractionOutcome {
        findings?.removeAll()
        do throws(RequestFinding) {
            let request = try read(record, in: batch)
            notes.add(oddities)
            if let sighting = request.sighting, let reason = history.take(sighting) { return .suppressed(reason) }
            append(request, to: &batch)
            return .notifications(1)
        } catch {
            return .deadLetter(findings.letter(error))
        }
    }

    /// Reads and checks the whole request, in this order: the first problem is the dead letter's. What depends on a
    /// member that is refused is not checked.
    private mutating func read(_ record: Int, in batch: borrowing EventBatch) throws(RequestFinding) -> Request {
        guard let value = batch.records[record].value else { throw RequestFinding(.nullValue) }
        arena.truncate()
        oddities = RequestNotes()
        var attributes = RecordHeaders()
        let headers = batch.records[record].headers
        if !headers.isEmpty {
            attributes = RecordHeaders(batch.headers[headers])
            if attributes.lacksValidTraceparent { oddities.ignoredTraceparents += 1 }
        }
        let members = try members(of: value, &attributes)
        try members.refuseUnknownMembers(findings)
        let requestedAt = try findings.attempt(try members.time(.requestedAt))
        let expiresAt = try findings.attempt(try members.time(.expiresAt))
        let id = try beginIdentity(of: members, attributes: attributes, record: record, in: batch)
        let collapseKey = try findings.attempt(try members.string(.collapseKey))
        let priority = try priority(of: members)
        try readAudiences(of: members)
        let (kind, content) = try content(of: members)
        try findings.end()

        let moment = requestedAt ?? attributes.ceTime.flatMap { Moment($0)?.eventTime }
        let timestamp = batch.records[record].clampedTime
        let eventTime = moment ?? timestamp
        let byDefault = eventTime + rules.timeToLive.wholeMilliseconds
        let expiry = expiresAt ?? content.validUntil ?? byDefault
        let ignoresExpiry = rules.ignoresValidUntil && content.validUntil != nil
        // A request with an id of its own that is sent twice has one message id.
        let identityTime = moment ?? (identity.isOwn ? .epoch : timestamp)
        let sighting = sighting(of: record, in: batch, value: value, isRedriven: attributes.original != nil)
        identity.end(type: UnsafeRawBufferPointer(kind.name))
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        let messageID = arena.make { identity.write(orderID: none, eventTime: identityTime, to: $0) }
        return Request(
            record: record, traceparent: attributes.traceparent, kind: kind, id: id, messageID: messageID,
            sighting: sighting, eventTime: eventTime, expiresAt: expiry,
            fcmExpiresAt: ignoresExpiry ? byDefault : expiry, collapseKey: collapseKey ?? content.collapseKey,
            priority: priority ?? (content.isSilent ? .normal : .high), content: content)
    }

    /// - Parameter value: of the record.
    private mutating func sighting(
        of record: Int, in batch: borrowing EventBatch, value: UnsafeRawBufferPointer, isRedriven: Bool
    ) -> RequestSighting? {
        guard identity.isOwn else { return nil }
        let hash = identity.hash(with: batch.records[record].key)
        return RequestSighting(
            key: RequestKey(high: hash.high, low: hash.low), value: value, offset: batch.records[record].offset,
            isRedriven: isRedriven)
    }

    private mutating func members(
        of value: UnsafeRawBufferPointer, _ attributes: inout RecordHeaders
    ) throws(RequestFinding) -> RequestMembers {
        do throws(DeadLetter) {
            return try envelopes.body(of: value, attributes: &attributes, texts: &arena) { RequestMembers($0) }
        } catch {
            throw RequestFinding(error)
        }
    }

    /// Exactly one of the two objects.
    private mutating func content(
        of members: RequestMembers
    ) throws(RequestFinding) -> (RequestNotification.Content, RequestContent) {
        switch (members.present(.app) != nil, members.present(.message) != nil) {
        case (false, false): throw RequestFinding(.noContent)
        case (true, true): throw RequestFinding(.twoContents)
        case (true, false):
            return (.app, try readApp(AppMembers(try members.object(.app))))
        case (false, true):
            let message = MessageMembers(try members.object(.message))
            let content = try readMessage(message)
            if members.present(.collapseKey) != nil, message.present(.collapseKey) != nil {
                try findings.refuse(
                    RequestFinding(
                        .bothThere("collapse_key", "message.collapseKey"), at: RequestMembers.pointer(.collapseKey)))
            }
            if members.present(.expiresAt) != nil, message.present(.validUntil) != nil {
                try findings.refuse(
                    RequestFinding(
                        .bothThere("expires_at", "message.validUntil"), at: RequestMembers.pointer(.expiresAt)))
            }
            return (.message, content)
        }
    }

    private func priority(of members: RequestMembers) throws(RequestFinding) -> RequestNotification.Priority? {
        guard let value = members.present(.priority) else { return nil }
        if let text = value.string {
            if text == "high" { return .high }
            if text == "normal" { return .normal }
        }
        try findings.refuse(members.wrong(.priority, .priority))
        return nil
    }

    /// The identity of the request: the first source that is present (docs/rules.md §6). Returns the id, if it has one.
    private mutating func beginIdentity(
        of members: RequestMembers, attributes: RecordHeaders, record: Int, in batch: borrowing EventBatch
    ) throws(RequestFinding) -> UnsafeRawBufferPointer? {
        if let value = members.present(.requestID) {
            guard let id = arena.text(value) else {
                try findings.refuse(members.wrong(.requestID, .text))
                return nil
            }
            identity.begin(tag: "request")
            identity.append(id)
            return id
        }
        if let source = attributes.ceSource, let id = attributes.ceID {
            identity.begin(tag: "request")
            identity.append(source)
            identity.append(id)
            return id
        }
        if let id = attributes.outboxID {
            identity.begin(tag: "request")
            identity.append(id)
            return id
        }
        identity.begin(tag: "request", coordinatesOf: record, in: batch, attributes: attributes)
        return nil
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
