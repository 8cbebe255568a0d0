import JSONReader

/// When an order is delivered, and which source named it: two independent chains (document 1, "Data Extraction Rules";
/// docs/rules.md §5.3 row 17).
struct DeliveryTime {
    var slot: TimeSlot?
    var slotSource = FieldSource.fallback
    var date: CivilDate?
    var dateSource = FieldSource.fallback

    init() {}

    init(of order: OrderMembers, shipping: ShippingMembers, in zone: TimeZoneTable, notes: inout ExtractionNotes) {
        self.init(of: order, shipping: shipping, slot: shipping[.slot], in: zone, notes: &notes)
    }

    private init(
        of order: OrderMembers, shipping: ShippingMembers, slot slotObject: JSONValue?, in zone: TimeZoneTable,
        notes: inout ExtractionNotes
    ) {
        let primary = SlotMembers(slotObject)
        let salesforce = SalesforceMembers(order[.metadata])
        let salesforceStart = order.values(of: .salesforceStart, known: salesforce[.deliverySlotStart])
        if let found = TimeSlot(
            start: order.values(of: .slotStart, known: primary[.startTime]),
            end: order.values(of: .slotEnd, known: primary[.endTime]), in: zone)
        {
            slot = found
            slotSource = .slot
        } else if let found = TimeSlot(
            start: salesforceStart, end: order.values(of: .salesforceEnd, known: salesforce[.deliverySlotEnd]), in: zone
        ) {
            slot = found
            slotSource = .salesforce
        } else if let found = TimeSlot(
            timeSlots: order.values(of: .pickupTimeSlot, known: shipping[.pickupDetails]?.member("time_slot")), in: zone
        ) {
            slot = found
            slotSource = .drone
        }
        let slotDate = order.values(of: .slotDate, known: primary[.date])
        let deliveryDate = order.values(of: .slotDeliveryDate, known: primary[.deliveryDate])
        if let found = Self.date(slotDate, in: zone, notes: &notes) {
            date = found
            dateSource = .slot
        } else if let found = Self.date(salesforceStart, in: zone, notes: &notes) {
            date = found
            dateSource = .salesforce
        } else if let found = Self.date(deliveryDate, in: zone, notes: &notes) {
            date = found
            dateSource = .drone
        } else if let found = Self.date(order.values(of: .orderDate, known: order[.orderDate]), in: zone, notes: &notes)
        {
            date = found
            dateSource = .order
        }
    }

    /// The event's own slot and date, for the ids of ORDER_IDS_LISTED (docs/rules.md §5.3 row 9): from an order's
    /// sources at the top level of the event, and from the payload's own names.
    ///
    /// - Parameter listed: for the mapped members of the event as an order.
    init(of event: EventMembers, listed: MappedMembers?, in zone: TimeZoneTable, notes: inout ExtractionNotes) {
        let order = OrderMembers(event.object, listed)
        let shipping = ShippingMembers(order[.shippingInfo])
        let slotObject = event.values(of: .slot).container(where: \.isObject) ?? event[.slot] ?? shipping[.slot]
        self.init(of: order, shipping: shipping, slot: slotObject, in: zone, notes: &notes)
        slot = slot ?? TimeSlot(start: event.values(of: .startTime), end: event.values(of: .endTime), in: zone)
        date = date ?? Self.date(event.values(of: .deliveryDate), in: zone, notes: &notes)
        slotSource = slot == nil ? .fallback : .event
        dateSource = date == nil ? .fallback : .event
    }

    /// The date, or else the event's date in the place's zone, however late the event is read.
    ///
    /// East of Greenwich, the last hours of year 9999 are in year 10000, which a payload cannot name; they count as its
    /// last day.
    func date(of time: WallTime, in zone: TimeZoneTable) -> CivilDate {
        date ?? zone.wallClock(at: time)?.date ?? .last
    }

    /// Fills in what is missing here from the other one.
    mutating func complete(with other: DeliveryTime) {
        if slot == nil {
            slot = other.slot
            slotSource = other.slotSource
        }
        if date == nil {
            date = other.date
            dateSource = other.dateSource
        }
    }

    /// The first date among the values.
    private static func date(_ values: MemberValues, in zone: TimeZoneTable, notes: inout ExtractionNotes) -> CivilDate?
    {
        values.firstValid { value in
            if let moment = Moment(value) { return moment.date(in: zone) }
            if let text = value.string, isAmbiguous(text.bytes.trimmed) { notes.ambiguousDates += 1 }
            return nil
        }
    }

    /// Whether it begins like `07/07/2025` or `7.7.25`, where day and month cannot be told apart.
    private static func isAmbiguous(_ text: UnsafeRawBufferPointer) -> Bool {
        var cursor = ASCIICursor(text)
        guard cursor.oneOrTwoDigits() != nil else { return false }
        let separator = cursor.peek
        switch separator {
        case UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"):
            return cursor.skip(separator) && cursor.oneOrTwoDigits() != nil && cursor.skip(separator)
                && cursor.digits(2) != nil
        default:
            return false
        }
    }
}
