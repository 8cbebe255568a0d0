import Events
import OrderState
import Subscriptions
import Telemetry

extension Counts {
    /// A metric, and the count that it shows.
    struct Row: Sendable {
        var name: String
        var help: String
        var labels: KeyValuePairs<String, String> = [:]
        var value: WritableKeyPath<Counts, Int> & Sendable
    }

    /// Every count, named by Prometheus's conventions. Drives ``add(_:)`` and the metrics.
    static let table: [Row] =
        [
            Row("carillon_events_total", \.events, "Records of events and requests that were committed."),
            Row("carillon_notifications_total", \.notifications, "Notifications extracted from events."),
            Row("carillon_timers_total", \.timers, "Timers of orders that were due and not dropped."),
            Row("carillon_dispatches_total", \.dispatches, "Records written to the dispatch topic, one per device."),
            Row(
                "carillon_stale_devices_total", \.staleDevices, "Devices left out: not seen for subscriptions.max-age."),
            Row(
                "carillon_rejected_devices_total", \.rejectedDevices,
                "Devices of a host's resolver that cannot be sent to."),
            Row("carillon_key_mismatches_total", \.keyMismatches, "Events whose key is not their order id."),
            Row("carillon_ambiguous_dates_total", \.ambiguousDates, "Dates such as 07/07/2025, which count as absent."),
            Row("carillon_unknown_statuses_total", \.unknownStatuses, "Events with a status that is not a known one."),
            Row("carillon_ignored_order_ids_total", \.ignoredOrderIDs, "Entries of ORDER_IDS_LISTED that are not ids."),
            Row(
                "carillon_out_of_order_events_total", \.outOfOrder,
                "Events older than one of their order that came before."),
            Row(
                "carillon_refolded_events_total", \.refolded,
                "Events folded into the state of their orders again, after a start or a rebalance."),
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
        ]
        + DeadLetter.Code.allCases.map {
            Row("carillon_dead_letters_total", \.deadLettersByCode[$0], "Dead letters, by code.", ["code": $0.label])
        }
        + SuppressionReason.allCases.map {
            Row(
                "carillon_suppressed_events_total", \.eventsByReason[$0], "Events that notified nobody, by reason.",
                ["reason": $0.label])
        }
        + TimerDrop.allCases.map {
            Row(
                "carillon_dropped_timers_total", \.timersByDrop[$0], "Timers that are not sent, by reason.",
                ["reason": $0.label])
        }
        + FieldSource.allCases.flatMap {
            [
                source("time_slot", $0, \.timeSlotSources[$0]), source("date", $0, \.dateSources[$0]),
                source("order_id", $0, \.orderIDSources[$0]),
            ]
        }

    private static func source(
        _ field: String, _ source: FieldSource, _ value: WritableKeyPath<Counts, Int> & Sendable
    ) -> Row {
        Row(
            "carillon_field_sources_total", value, "Notifications, by the source that supplied a field.",
            ["field": field, "source": "\(source)"])
    }
}

extension Counts.Row {
    init(
        _ name: String, _ value: WritableKeyPath<Counts, Int> & Sendable, _ help: String, _ labels: Metrics.Labels = [:]
    ) {
        self.init(name: name, help: help, labels: labels, value: value)
    }
}
