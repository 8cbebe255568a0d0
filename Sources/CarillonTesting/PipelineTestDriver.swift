import Pipeline

/// Runs the pipeline with no Kafka, as Kafka Streams' `TopologyTestDriver` runs a topology: a test writes events,
/// subscribes devices and moves the clock, and reads what the pipeline wrote.
///
///     var driver = try PipelineTestDriver(audienceRule: PlaceAndNewOrders())
///     try driver.subscribe(Subscription(audience: "place/42", token: "t", platform: .fcm, app: "com.example.shop"))
///     try driver.process(.order("4711", place: "42"))
///     driver.output.dispatches[0].payload?.orderID        // "4711"
///
/// From extraction to rendering, and from the state of orders to their timers, all code is the pipeline's own: the same
/// calls give the same bytes, here and in production. There are no rebalances, no aborted transactions and only one
/// worker. It reads no clock and does no I/O. One owner, one thread.
public struct PipelineTestDriver: ~Copyable {
    /// 2025-07-07T07:00:00Z, a Monday.
    public static let defaultStart = WallTime(milliseconds: 1_751_871_600_000)

    public let configuration: PipelineConfiguration
    /// What has been committed.
    public private(set) var output = RecordingSink()
    /// The records of notifications.journal, one per transaction: the input of a replay.
    public private(set) var journal: [String] = []
    /// The counts of everything that has been committed.
    public private(set) var counts = Counts()
    /// The clock of the next transaction. Only ``advanceClock(by:)`` moves it.
    public private(set) var clock: WallTime

    package let table: SubscriptionTable
    package var core: Flow
    package var batch: EventBatch
    private var memory = Memory()
    private var positions = Positions()

    /// - Parameters:
    ///   - configuration: rules, limits and names as in production; nil: the defaults. Its broker and its folder are
    ///     not used.
    ///   - resolver: finds the devices of audiences; nil: those of ``subscribe(_:)``.
    ///   - audienceRule: decides who a notification is for.
    ///   - partitions: of the events' topic.
    ///   - start: the clock's initial time.
    public init(
        _ configuration: PipelineConfiguration? = nil, resolver: (any TokenResolver)? = nil,
        audienceRule: any AudienceRule = OrderAudiences(), partitions: Int32 = 1,
        startingAt start: WallTime = PipelineTestDriver.defaultStart
    ) throws {
        let configuration = try configuration ?? PipelineTestDriver.configuration()
        let table = SubscriptionTable.inMemory()
        // The table has read to the end of an empty topic.
        _ = try table.apply([], nextOffsets: table.appliedOffsets, at: start)
        var core = try Flow(
            configuration, audienceRule: audienceRule,
            recipients: resolver.map(RecipientSource.resolver) ?? .table(table))
        var committed: [SourcePartition: CommittedPosition] = [:]
        let watermark = TimerWatermark(start)
        for partition in 0..<partitions {
            core.orders.assign(partition, watermark: watermark, newest: .epoch)
            committed[SourcePartition(.orders, partition)] = CommittedPosition(
                offset: 0,
                metadata: OffsetMetadata(watermark: watermark, partitions: partitions, newestTimestamp: .epoch))
        }
        positions.assign(committed, partitionCounts: [.orders: partitions])
        self.configuration = configuration
        self.table = table
        self.core = core
        batch = EventBatch(.orders, topic: configuration.topics.events)
        clock = start
    }

    /// The defaults of every setting, with no broker and no folder.
    package static func configuration(
        _ rules: ExtractionRules? = nil
    ) throws -> PipelineConfiguration {
        PipelineConfiguration(kafka: [:], stateDirectory: "", rules: try rules ?? ExtractionRules())
    }

    /// Subscribes a device, for events from now on. A driver with a resolver ignores it.
    public func subscribe(_ subscription: Subscription) throws { try table.subscribe(subscription) }

    /// Unsubscribes a device, as a tombstone does.
    public func unsubscribe(_ subscription: Subscription) throws { try table.unsubscribe(subscription) }

    /// Writes records to the events' topic and processes them, in one transaction. Sends no timers: see
    /// ``advanceClock(by:)``.
    ///
    /// - Throws: what the resolver or the audience rule throws. The transaction is then aborted, and nothing of it is
    ///   in ``output``; the pipeline would process the records again, and a test can.
    public mutating func process(_ records: SampleRecord...) throws { try process(records) }

    /// The same with a list.
    public mutating func process(_ records: [SampleRecord]) throws {
        fill(records)
        try transact { driver, sink in
            var next = 0
            while next < driver.batch.records.count {
                let extracted = driver.core.extract(&driver.batch, from: next)
                next = try driver.core.emit(driver.batch, next..<extracted, limit: .max, into: &sink)
            }
            for record in driver.batch.records {
                driver.positions.orders.advance(over: record, latest: driver.core.orders.latestTime)
            }
        }
    }

    /// Advances the clock. Each timer that is due by then is sent at its time, or at the clock's if that is later, in
    /// one transaction per partition and time.
    ///
    /// - Throws: as ``process(_:)``; the clock then stands at the timer that was not sent.
    public mutating func advanceClock(by duration: Duration) throws {
        let end = clock + duration.wholeMilliseconds
        while let partition = positions.orders.owned.min(by: {
            core.orders.nextDue(in: $0) < core.orders.nextDue(in: $1)
        }),
            core.orders.nextDue(in: partition) <= end
        {
            // `nextDue` says when a timer may be due; `isDue` looks, and corrects it.
            guard core.orders.isDue(in: partition, at: end), let position = positions.orders[partition] else {
                continue
            }
            clock = max(core.orders.nextDue(in: partition), clock)
            let tick = Tick(partition: partition, time: clock, clock: clock, offset: position.next)
            try transact { driver, sink in
                let watermark = try driver.core.fire(tick, .upTo(nil), into: &sink)
                driver.positions.orders.fire(partition: partition, upTo: watermark, tick: tick.time)
            }
        }
        clock = end
    }

    // MARK: Transactions

    /// Puts records into ``batch``, at the next offsets of their partitions.
    package mutating func fill(_ records: [SampleRecord]) {
        batch.removeAll()
        memory = Memory()
        var next: [Int32: Int64] = [:]
        for record in records {
            let offset = next[record.partition] ?? positions.orders[record.partition]?.next ?? 0
            memory.append(record, partition: record.partition, offset: offset, now: clock, to: &batch)
            next[record.partition] = offset + 1
        }
    }

    private mutating func transact(
        _ body: (inout PipelineTestDriver, inout RecordingSink) throws -> Void
    ) throws {
        var sink = RecordingSink()
        do {
            try core.beginTransaction(clock: clock, boundsTimes: true)
            try body(&self, &sink)
        } catch {
            core.endTransaction()
            core.rollBack()
            positions.rollBack()
            _ = core.takeNotes()
            throw error
        }
        if configuration.orders.schedule == nil { positions.orders.passTimers(until: clock) }
        try writeJournal()
        core.endTransaction()
        positions.commit()
        core.commit()
        var counted = core.counts
        counted.transactions += 1
        counted.count(core.takeNotes())
        counts.add(counted)
        output.append(sink)
    }

    private mutating func writeJournal() throws {
        var entry = JournalEntry(
            group: configuration.groupID, cluster: nil, dispatch: configuration.topics.dispatch,
            rules: configuration.rulesHash)
        positions.forEachUncommitted { partition, position, _ in
            entry.append(configuration.topics.topicPartition(of: partition), position, isIncomplete: false)
        }
        guard !entry.ranges.isEmpty else { return }
        entry.clock = clock
        entry.table = core.tableOffsets
        journal.append(String(decoding: try entry.json(), as: UTF8.self))
    }
}
