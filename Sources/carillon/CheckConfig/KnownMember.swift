import Arguments
import Notifications

/// A member of events that docs/rules.md §5.3 names, by the key that it has in `events.members`, and what shops call it.
struct KnownMember {
    var key: String
    /// What is looked for at the end of a path.
    var kind = SurveyedPath.Kind.value
    /// The known paths in the order's object that answer the same question.
    var known: [String] = []
    /// The member of the event's body that answers it, too.
    var ofEvent: String?
    /// Its usual names, the likelier ones first, in small letters without anything between the words. A name may be spread
    /// over the path: `store.id` is `storeid`.
    var names: [String]
    /// Names that say too little unless they are the whole path.
    var wholeNames: [String] = []

    static let order = KnownMember(
        key: "order", kind: .object,
        names: ["order", "orderdata", "orderdetails", "orderinfo", "purchaseorder", "salesorder"],
        wholeNames: ["data", "payload", "body", "detail", "resource", "object"])

    /// Members of the event's body.
    static let ofEvent: [KnownMember] = [
        KnownMember(key: "orders", kind: .objects, names: ["orders", "orderlist"]),
        KnownMember(key: "order_ids", kind: .values, names: ["orderids", "orderidlist", "ordernumbers"]),
        KnownMember(
            key: "event_type", names: ["eventtype", "eventname", "eventkind", "messagetype"],
            wholeNames: ["kind", "event", "type", "action"]),
        KnownMember(
            key: "event_id", names: ["eventid", "eventuuid", "messageid"], wholeNames: ["id", "uuid", "guid"]),
        KnownMember(
            key: "occurred_at",
            names: ["occurredat", "eventtime", "eventtimestamp", "happenedat", "timestamp", "changedat", "emittedat"],
            wholeNames: ["time", "at", "ts"]),
        KnownMember(key: "new_status", names: ["newstatus", "statusto", "statusnew", "tostatus", "currentstatus"]),
        KnownMember(
            key: "previous_status", names: ["previousstatus", "oldstatus", "statusfrom", "statusold", "fromstatus"]),
    ]

    /// Members of the order's object.
    static let ofOrder: [KnownMember] = [
        KnownMember(
            key: "order.id", known: ["id"], names: ["orderid", "orderuuid", "orderguid", "orderkey"],
            wholeNames: ["uuid", "guid", "key"]),
        KnownMember(
            key: "order.order_number", known: ["order_number"],
            names: ["ordernumber", "orderno", "ordernr", "ordernum", "ordercode"], wholeNames: ["number", "no", "nr"]),
        KnownMember(
            key: "order.reference_id", known: ["reference_id"],
            names: ["referenceid", "orderreference", "externalreference", "externalid", "reference"]),
        KnownMember(
            key: "order.parent_order_id", known: ["parent_order_id"],
            names: ["parentorderid", "parentorder", "parentid", "mainorderid"]),
        KnownMember(
            key: "order.place_id", known: ["place_id", "place.id", "shipping_info.place_id"], ofEvent: "place_id",
            names: names(["place"] + places, ["id", "code", "number", "no"]), wholeNames: places),
        KnownMember(
            key: "order.status", known: ["status"], ofEvent: "new_status",
            names: ["orderstatus", "orderstate", "statuscode"],
            wholeNames: ["state", "stage"]),
        KnownMember(
            key: "order.shipping_info.slot.start_time",
            known: [
                "shipping_info.slot.start_time", "metadata.delivery_slot_start",
                "shipping_info.pickup_details.time_slot",
            ],
            names: names(deliveries, ["start", "from", "starttime", "begin"]) + ["starttime"]),
        KnownMember(
            key: "order.shipping_info.slot.end_time",
            known: [
                "shipping_info.slot.end_time", "metadata.delivery_slot_end", "shipping_info.pickup_details.time_slot",
            ],
            names: names(deliveries, ["end", "to", "endtime", "until"]) + ["endtime"]),
        KnownMember(
            key: "order.shipping_info.slot.date",
            known: [
                "shipping_info.slot.date", "metadata.delivery_slot_start", "shipping_info.slot.delivery_date",
                "order_date",
            ],
            names: names(deliveries, ["date", "day"])),
        KnownMember(key: "order.order_type", known: ["order_type", "type"], names: ["ordertype", "orderkind"]),
    ]

    private static let places = [
        "store", "shop", "branch", "outlet", "location", "warehouse", "restaurant", "market", "site",
    ]
    private static let deliveries = [
        "delivery", "slot", "deliveryslot", "deliverywindow", "timeslot", "window", "pickup", "shipping",
    ]

    /// Each of these with each end.
    private static func names(_ beginnings: [String], _ ends: [String]) -> [String] {
        beginnings.flatMap { beginning in ends.map { beginning + $0 } }
    }

    /// How unlike its names a path is; nil if it is none of them.
    func distance(of path: [Substring]) -> Int? {
        let words = path.map(Self.plain)
        // The last name, the last two, and so on.
        let tails = (1...path.count).map { words.suffix($0).joined() }
        if let index = names.indices.first(where: { tails.contains(names[$0]) }) { return index }
        if path.count == 1, let index = wholeNames.firstIndex(of: words[0]) { return names.count + index }
        return names.compactMap { Self.slips(in: tails[0], from: $0) }.min().map { 1_000 + $0 }
    }

    /// In small letters and digits alone, without the end of a custom field of Salesforce.
    static func plain(_ name: some StringProtocol) -> String {
        let lower = name.lowercased()
        return (lower.hasSuffix("__c") ? lower.dropLast(3) : lower[...]).filter { $0.isLetter || $0.isNumber }
    }

    /// How many slips of the pen make one of the other; nil if they are too many for its length.
    private static func slips(in word: String, from name: String) -> Int? {
        let most = name.utf8.count >= 10 ? 2 : name.utf8.count >= 6 ? 1 : 0
        guard abs(word.utf8.count - name.utf8.count) <= most else { return nil }
        let distance = editDistance(word, name)
        return distance <= most ? distance : nil
    }
}
