extension Counts {
    /// A metric, and the count that it shows.
    package struct Row: Sendable {
        package var name: String
        package var help: String
        package var labels: KeyValuePairs<String, String> = [:]
        package var value: WritableKeyPath<Counts, Int> & Sendable
    }

    /// Every count, named by Prometheus's conventions. Drives ``add(_:)`` and the metrics.
    package static let table = byTopic + plain + deadLetters + suppressed + droppedTimers + fieldSources

    private static let byTopic: [Row] = SourceKind.allCases.flatMap { source in
        [
            Row(
                "carillon_events_total", \.eventsBySource[source],
                "Records of events and requests that were committed, by topic.", ["topic": source.label]),
            Row(
                "carillon_notifications_total", \.notificationsBySource[source],
                "Notifications of events, timers and requests, by topic.", ["topic": source.label]),
            Row(
                "carillon_dispatches_total", \.dispatchesBySource[source],
                "Records written to the dispatch topic, one per device, by topic.", ["topic": source.label]),
        ]
    }

    private static let plain: [Row] = [
        Row("carillon_timers_total", \.timers, "Timers of orders that were due and not dropped."),
        Row(
            "carillon_stale_devices_total", \.staleDevices, "Devices left out: not seen for subscriptions.max-age."),
        Row(
            "carillon_rejected_devices_total", \.rejectedDevices,
            "Devices of a host's resolver that cannot be sent to."),
        Row(
            "carillon_near_device_limit_total", \.nearDeviceLimit,
            "Events and timers with more than half of fan-out.max-devices."),
        Row("carillon_key_mismatches_total", \.keyMismatches, "Events whose key is not their order id."),
        Row("carillon_ambiguous_dates_total", \.ambiguousDates, "Dates such as 07/07/2025, which count as absent."),
        Row("carillon_unknown_statuses_total", \.unknownStatuses, "Events with a status that is not a known one."),
        Row("carillon_ignored_order_ids_total", \.ignoredOrderIDs, "Entries of ORDER_IDS_LISTED that are not ids."),
        Row(
            "carillon_ignored_traceparents_total", \.ignoredTraceparents,
            "Events and requests whose traceparent is not of W3C's form, and does not go on."),
        Row(
            "carillon_out_of_order_events_total", \.outOfOrder,
            "Events older than one of their order that came before."),
        Row(
            "carillon_refolded_events_total", \.refolded,
            "Events and requests folded into the state of their partition again, after a start or a rebalance."),
        Row(
            "carillon_forgotten_orders_total", \.forgottenOrders,
            "Orders that were forgotten because those of their partition exceeded state.max-bytes."),
        Row(
            "carillon_forgotten_requests_total", \.forgottenRequests,
            "Ids of requests that were forgotten before they were 24 h old: their partition had more than 1,000,000."),
        Row("carillon_transactions_total", \.transactions, "Committed transactions."),
        Row("carillon_transaction_aborts_total", \.aborts, "Aborted transactions; their work is done again."),
        Row("carillon_recreated_clients_total", \.recreatedClients, "Kafka clients recreated after an error."),
        Row(
            "carillon_missing_watermarks_total", \.missingWatermarks,
            "Committed offsets without a readable watermark."),
        Row(
            "carillon_unknown_app_types_total", \.unknownAppTypes,
            "Requests with a type of app notification that is not known."),
        Row(
            "carillon_missing_app_keys_total", \.missingAppKeys,
            "Keys that a type of app notification should have, and a request has not."),
        Row("carillon_quoted_app_keys_total", \.quotedAppKeys, "Keys of app.data that had quotes around them."),
        Row(
            "carillon_unlinked_requests_total", \.unlinkedRequests,
            "Requests with order_type and order_id that are no deep link."),
        Row(
            "carillon_overwritten_keys_total", \.overwrittenKeys,
            "Requests with a collapse_key in their data, which FCM overwrites."),
        Row("carillon_malformed_subscriptions_total", \.malformedSubscriptions, "Subscription records skipped."),
        Row(
            "carillon_misplaced_subscriptions_total", \.misplacedSubscriptions,
            "Subscription records skipped because they are not in the partition of their key."),
    ]

    private static let deadLetters: [Row] = DeadLetter.Code.allCases.flatMap { code in
        [
            deadLetterRow(of: .orders, code, \.deadLettersOfOrders[code]),
            deadLetterRow(of: .requests, code, \.deadLettersOfRequests[code]),
        ]
    }

    private static let suppressed: [Row] = SuppressionReason.allCases.flatMap { reason in
        [
            suppressedRow(of: .orders, reason, \.suppressedOrders[reason]),
            suppressedRow(of: .requests, reason, \.suppressedRequests[reason]),
        ]
    }

    private static let droppedTimers: [Row] = TimerDrop.allCases.map { drop in
        Row(
            "carillon_dropped_timers_total", \.timersByDrop[drop], "Timers that are not sent, by reason.",
            ["reason": drop.label])
    }

    private static let fieldSources: [Row] = FieldSource.allCases.flatMap { found in
        [
            fieldRow("time_slot", found, \.timeSlotSources[found]), fieldRow("date", found, \.dateSources[found]),
            fieldRow("order_id", found, \.orderIDSources[found]),
        ]
    }

    private static func deadLetterRow(
        of source: SourceKind, _ code: DeadLetter.Code, _ value: WritableKeyPath<Counts, Int> & Sendable
    ) -> Row {
        Row(
            "carillon_dead_letters_total", value, "Dead letters, by topic and code.",
            ["topic": source.label, "code": code.label])
    }

    private static func suppressedRow(
        of source: SourceKind, _ reason: SuppressionReason, _ value: WritableKeyPath<Counts, Int> & Sendable
    ) -> Row {
        Row(
            "carillon_suppressed_events_total", value, "Events and requests that notified nobody, by topic and reason.",
            ["topic": source.label, "reason": reason.label])
    }

    private static func fieldRow(
        _ field: String, _ source: FieldSource, _ value: WritableKeyPath<Counts, Int> & Sendable
    ) -> Row {
        Row(
            "carillon_field_sources_total", value, "Notifications, by the source that supplied a field.",
            ["field": field, "source": "\(source)"])
    }
}

extension SourceKind {
    /// The value of the label `topic`.
    package var label: String {
        switch self {
        case .orders: "events"
        case .requests: "requests"
        }
    }
}

extension Counts.Row {
    init(
        _ name: String, _ value: WritableKeyPath<Counts, Int> & Sendable, _ help: String,
        _ labels: KeyValuePairs<String, String> = [:]
    ) {
        self.init(name: name, help: help, labels: labels, value: value)
    }
}
