/// What a worker does with the flow between its transactions.
extension Flow {
    /// Takes a new snapshot of the subscriptions and counts from zero.
    ///
    /// - Parameters:
    ///   - clock: the transaction's: what has expired by then is not sent.
    ///   - boundsTimes: whether no record may count as more than an hour after it. Extract the records afterwards.
    package mutating func beginTransaction(clock: WallTime, boundsTimes: Bool) throws {
        counts = Counts()
        firstDeadLetter = nil
        self.clock = clock
        let latest = boundsTimes ? RecordTime.latest(at: clock) : .distantFuture
        orders.latestTime = latest
        requests.states.latestTime = latest
        cursor.forgetRecipients()
        try fanOut.beginTransaction()
    }

    /// Releases the snapshot, so that an idle worker does not keep old pages of the table alive.
    package mutating func endTransaction() {
        fanOut.endTransaction()
    }

    /// The irregularities of the events that were extracted since the last call.
    package mutating func takeNotes() -> (orders: ExtractionNotes, requests: RequestNotes) {
        (orders.takeNotes(), requests.takeNotes())
    }

    /// The next offset of each partition of the subscriptions topic in the snapshot.
    package var tableOffsets: [Int64]? { fanOut.tableOffsets }

    /// Commits what was emitted and fired.
    package mutating func commit() {
        orders.commit(keeping: cursor.notEmitted(of: .orders))
        requests.states.commit(keeping: cursor.notEmitted(of: .requests))
    }

    /// Rolls back what was extracted and fired since the last commit: the records come again.
    package mutating func rollBack() {
        orders.rollBack()
        requests.states.rollBack()
        cursor.restart()
    }

    /// Rolls back the records that were extracted and not emitted, if one of them counts as a time that the clock of the
    /// committed transaction has bounded: in the next one it would count as another.
    ///
    /// - Returns: whether they have to be extracted again, in the next transaction.
    package mutating func takesBackBoundedTimes() -> Bool {
        guard orders.states.hasBoundedTimes || requests.states.hasBoundedTimes else { return false }
        rollBack()
        return true
    }

    /// How many records the open transaction has so far.
    package var written: Int { counts.dispatches + counts.deadLetters }

    /// Folds the records of a batch into the state of its source and writes nothing: their output is committed already.
    ///
    /// Everything that was extracted before must have been emitted.
    /// - Parameter isOpen: a transaction of other partitions is open; the fold is committed, or rolled back, with it.
    package mutating func refold(_ batch: inout EventBatch, isOpen: Bool = false) {
        let (ofOrders, ofRequests) = (orders.extractor.notes, requests.extractor.notes)
        let forgotten = requests.states.forgotten
        var next = 0
        while next < batch.records.count { next = extract(&batch, from: next) }
        cursor.restart()
        (orders.extractor.notes, requests.extractor.notes) = (ofOrders, ofRequests)
        requests.states.forgotten = forgotten
        if !isOpen { commit() }
    }
}
