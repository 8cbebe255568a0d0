import Extraction
import Synchronization
import Telemetry

/// The meter's numbers under the names that monitoring sees, by Prometheus's conventions.
final class PipelineMetrics: Sendable {
    private let published = Mutex(PipelineMeter.Reading())
    private let events, notifications, dispatches, staleDevices, transactions, aborts, recreatedClients: Counter
    private let ignoredOrderIDs, rejectedDevices: Counter
    private let malformedSubscriptions, keyMismatches, unknownStatuses, missingWatermarks, ambiguousDates: Counter
    private let deadLetters: [Counter]
    private let suppressed: [Counter]
    private let timeSlotSources, dateSources, orderIDSources: [Counter]
    private let lag, tableLag, partitions: Gauge

    init(_ metrics: Metrics) {
        events = metrics.counter("carillon_events_total", help: "Records of orders.events that were committed.")
        notifications = metrics.counter("carillon_notifications_total", help: "Notifications that events gave.")
        dispatches = metrics.counter("carillon_dispatches_total", help: "Records written to the dispatch topic.")
        staleDevices = metrics.counter(
            "carillon_stale_devices_total", help: "Devices left out because they were not seen for too long.")
        transactions = metrics.counter("carillon_transactions_total", help: "Committed transactions.")
        aborts = metrics.counter("carillon_transaction_aborts_total", help: "Aborted transactions.")
        recreatedClients = metrics.counter(
            "carillon_recreated_clients_total", help: "Kafka clients that were made anew after a fatal error.")
        ignoredOrderIDs = metrics.counter(
            "carillon_ignored_order_ids_total", help: "Entries of ORDER_IDS_LISTED that are no id.")
        rejectedDevices = metrics.counter(
            "carillon_rejected_devices_total", help: "Devices of the host's resolver that cannot be sent to.")
        malformedSubscriptions = metrics.counter(
            "carillon_malformed_subscriptions_total", help: "Subscription records that were skipped.")
        keyMismatches = metrics.counter(
            "carillon_key_mismatches_total", help: "Events whose key is not their order id.")
        unknownStatuses = metrics.counter(
            "carillon_unknown_statuses_total", help: "Events with a status that the documents do not list.")
        ambiguousDates = metrics.counter(
            "carillon_ambiguous_dates_total", help: "Dates such as 07/07/2025, which count as absent.")
        missingWatermarks = metrics.counter(
            "carillon_missing_watermarks_total", help: "Committed offsets without a readable watermark.")
        deadLetters = DeadLetter.Code.allCases.map {
            metrics.counter("carillon_dead_letters_total", help: "Dead letters by code.", labels: ["code": $0.label])
        }
        suppressed = SuppressionReason.allCases.map {
            metrics.counter(
                "carillon_suppressed_events_total", help: "Events that notified nobody, by reason.",
                labels: ["reason": $0.label])
        }
        func sources(_ field: String) -> [Counter] {
            FieldSource.allCases.map {
                metrics.counter(
                    "carillon_field_sources_total", help: "Which source supplied a field.",
                    labels: ["field": field, "source": "\($0)"])
            }
        }
        timeSlotSources = sources("time_slot")
        dateSources = sources("date")
        orderIDSources = sources("order_id")
        lag = metrics.gauge("carillon_consumer_lag_records", help: "Records of orders.events not processed yet.")
        tableLag = metrics.gauge(
            "carillon_table_lag_records", help: "Subscriptions that the table has not applied yet.")
        partitions = metrics.gauge("carillon_assigned_partitions", help: "Partitions of orders.events owned here.")
    }

    /// Adds what has happened since the last call.
    func publish(_ reading: PipelineMeter.Reading) {
        published.withLock { last in
            let (new, old) = (reading.counts, last.counts)
            events.add(new.events - old.events)
            notifications.add(new.notifications - old.notifications)
            dispatches.add(new.dispatches - old.dispatches)
            staleDevices.add(new.staleDevices - old.staleDevices)
            transactions.add(reading.transactions - last.transactions)
            aborts.add(reading.aborts - last.aborts)
            recreatedClients.add(reading.recreatedClients - last.recreatedClients)
            ignoredOrderIDs.add(reading.ignoredOrderIDs - last.ignoredOrderIDs)
            rejectedDevices.add(reading.rejectedDevices - last.rejectedDevices)
            malformedSubscriptions.add(reading.malformedSubscriptions - last.malformedSubscriptions)
            keyMismatches.add(reading.keyMismatches - last.keyMismatches)
            unknownStatuses.add(reading.unknownStatuses - last.unknownStatuses)
            ambiguousDates.add(reading.ambiguousDates - last.ambiguousDates)
            missingWatermarks.add(reading.missingWatermarks - last.missingWatermarks)
            for (code, counter) in zip(DeadLetter.Code.allCases, deadLetters) {
                counter.add(new.deadLetters(code) - old.deadLetters(code))
            }
            for (reason, counter) in zip(SuppressionReason.allCases, suppressed) {
                counter.add(new.suppressed(reason) - old.suppressed(reason))
            }
            for (index, source) in FieldSource.allCases.enumerated() {
                timeSlotSources[index].add(new.timeSlots(from: source) - old.timeSlots(from: source))
                dateSources[index].add(new.dates(from: source) - old.dates(from: source))
                orderIDSources[index].add(new.orderIDs(from: source) - old.orderIDs(from: source))
            }
            if let value = reading.lag { lag.set(value) }
            if let value = reading.tableLag { tableLag.set(value) }
            partitions.set(reading.partitions)
            last = reading
        }
    }
}
