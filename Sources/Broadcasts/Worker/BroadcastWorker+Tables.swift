import Pipeline
import StateStore

extension BroadcastWorker {
    /// Stores what has come together, now and then; notes how old the tables are.
    mutating func keepTables() throws {
        let isDue = .now >= nextFlush
        if isDue { nextFlush = .now + .seconds(10) }
        let now = context.clock.now()
        var isTooOld = false
        for (number, partition) in core.partitions {
            if isDue, context.ends.isReached(number, at: partition.committed.offset, within: Self.freshness) {
                partition.table.time = now
            }
            let table = partition.table
            // The age of a table without changes is stored as well.
            let isOld = table.time - table.storedTime > Self.commitAgain
            if table.pendingCount >= ChannelTable.mostPending || isDue && (table.isPending || isOld) {
                try table.flush(at: partition.committed.offset)
            }
            isTooOld = isTooOld || abs(now - partition.table.time) > context.log.largestTableAge
        }
        if isTooOld {
            logger.notice(
                "tables stood still for so long that they may have missed unsubscriptions: they are filled again")
            try startAgain()
        }
    }
}
