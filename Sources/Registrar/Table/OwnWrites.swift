import Notifications

/// Which subscriptions of the log are newer than what the table has: all but those that the registrar has replaced since,
/// and its own.
///
/// The table has the registrar's subscriptions as soon as they are committed, and those of others once they were read. A
/// record that somebody else wrote before, and that is read only now, must not undo what came after it. Where this only
/// took a dead device out, it is the other way around: what somebody else wrote meanwhile, and is not dead, is written again.
struct OwnWrites {
    /// The newest record of a key that is committed and not read yet.
    struct Own: Equatable {
        var command: Int64
        /// Of a record that must not overwrite what was not known.
        var mark: BurialMark?
    }

    /// A record of the log of which is not known what it has overwritten.
    struct Doubt {
        var own: Own
        var partition: Int32
        /// The first offset to look at.
        var first: Int64 { own.mark?.known ?? 0 }
    }

    /// What somebody else has written and the registrar has overwritten without knowing it.
    struct Overwritten {
        var theirs: LoggedSubscription
        var by: Own

        /// Of the record by which it is there again.
        var mark: BurialMark? { by.mark.map { BurialMark(evidence: $0.evidence, known: theirs.offset + 1) } }
    }

    /// By key, in bytes as Kafka knows it.
    private var underWay: [ByteText: Own] = [:]
    /// Of keys with a mark that are under way: the latest that somebody else has written before.
    private var theirs: [ByteText: LoggedSubscription] = [:]
    /// Of keys that are under way: from where on it is looked for what they have overwritten.
    private var doubts: [ByteText: Doubt] = [:]
    /// What is to be written again.
    private(set) var overwritten: [ByteText: Overwritten] = [:]

    /// Records with these keys were committed.
    ///
    /// - Parameters:
    ///   - command: the offset of the command that each was written for.
    ///   - mark: of the record with this key.
    mutating func committed(
        _ keys: some Sequence<SubscriptionKey>, for command: Int64,
        _ mark: (SubscriptionKey) -> BurialMark? = { _ in nil }
    ) {
        for key in keys { note(Own(command: command, mark: mark(key)), of: ByteText(key.text)) }
    }

    /// It is there again.
    mutating func restored(_ entry: Overwritten) {
        note(Own(command: entry.by.command, mark: entry.mark), of: ByteText(entry.theirs.key.text))
    }

    /// It cannot be written.
    mutating func giveUp(_ entry: Overwritten) {
        overwritten[ByteText(entry.theirs.key.text)] = nil
    }

    /// Everything from there on is read again.
    mutating func note(_ doubt: Doubt, of key: ByteText) {
        note(doubt.own, of: key)
        doubts[key] = doubt
    }

    private mutating func note(_ own: Own, of key: ByteText) {
        underWay[key] = own
        (theirs[key], doubts[key], overwritten[key]) = (nil, nil, nil)
    }

    /// Everything that was committed was read: what is still under way was compacted away.
    mutating func forgetAll() {
        underWay.removeAll()
        theirs.removeAll()
        doubts.removeAll()
    }

    /// Whether the table is to take a record that was read.
    mutating func isNews(_ change: LoggedSubscription) -> Bool {
        let key = ByteText(change.key.text)
        guard let newest = underWay[key] else {
            overwritten[key] = nil
            return true
        }
        if Own(command: change.command ?? -1, mark: change.mark) == newest {
            (underWay[key], doubts[key]) = (nil, nil)
            overwritten[key] = theirs.removeValue(forKey: key).flatMap { Self.overwritten($0, by: newest, change) }
        } else if let mark = newest.mark, change.command == nil, change.offset >= mark.known, change.isReadable {
            theirs[key] = change
        }
        return false
    }

    /// Somebody else's record, if the registrar's says something else than is right after both.
    private static func overwritten(_ theirs: LoggedSubscription, by own: Own, _ record: LoggedSubscription)
        -> Overwritten?
    {
        guard let mark = own.mark else { return nil }
        var theirs = theirs
        if theirs.entry?.facts.map({ $0.newest < mark.evidence }) ?? true { theirs.entry = nil }
        // A null over a null changes nothing.
        if theirs.entry == nil, record.entry == nil { return nil }
        return Overwritten(theirs: theirs, by: own)
    }

    /// The lowest offset of each partition that a registrar has to read that knows nothing of this.
    var needed: [Int32: Int64] {
        let changes = (theirs.values + overwritten.values.map(\.theirs)).map { ($0.partition, $0.offset) }
        return Dictionary(changes + doubts.values.map { ($0.partition, $0.first) }, uniquingKeysWith: min)
    }
}
