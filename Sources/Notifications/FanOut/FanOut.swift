/// The devices of one notification, each once: positions for ``FanOut/recipient(_:)``.
package struct Recipients: Equatable, Sendable {
    package var devices: Range<Int>
    /// The platforms among them, for ``MessageRenderer/begin(_:in:platforms:)``.
    package var platforms: PlatformSet
    /// Devices left out because they were not seen for too long (docs/rules.md §5.3 row 20), in each audience.
    package var stale: Int
    /// The event's audiences have more devices than are read, so that some are missing here.
    package var isTruncated = false

    package static let none = Recipients(devices: 0..<0, platforms: [], stale: 0)
}

/// A rule returned audiences that cannot be used: a defect of the rule.
public struct AudienceRuleError: Error, Equatable, Sendable, CustomStringConvertible {
    public var description: String
}

/// The subscriptions of the past, in place of the table.
package protocol PastSubscriptions: AnyObject {
    /// The next offset, by partition of the subscriptions topic, of the table that is seen.
    var positions: [Int64] { get }
    /// As ``TableReader/addDevices(of:as:limit:to:)``, but the list has copies.
    func addDevices(
        of audience: UnsafeRawBufferPointer, as index: Int32, limit: Int, to list: inout DeviceList
    ) throws(SubscriptionTableError)
}

/// Audience rule, resolver and de-duplication: from notifications to their devices.
///
/// One per worker, used only by its thread. A notification's devices are ordered by audience, then by token hash.
/// Allocates only for a batch that is larger than every earlier one.
package struct FanOut: ~Copyable {
    private let rule: any AudienceRule
    private let resolver: (any TokenResolver)?
    private var reader: TableReader?
    private let history: (any PastSubscriptions)?
    private let maxAge: Int64
    private let maxDevices: Int
    /// The apps whose devices requests reach; empty: all.
    private let requestApps: [String]
    /// Whether the notifications of the latest resolution reach only the devices of some apps.
    private var isLimitedToApps = false

    var audiences = AudienceList()
    var list = DeviceList()
    /// The devices of each audience; nil if the table has not been queried for it yet.
    private var ranges: [Range<Int>?] = []
    /// The first notification of the latest resolution, and where the links of each notification start.
    private var first = 0
    private var linkStarts: [Int] = []
    /// Of each notification, whether its event's audiences had more devices than are read, up to its own.
    private var isCut: [Bool] = []
    /// The record whose event each audience was counted for.
    private var countedFor: [Int] = []
    /// How many notifications one call of a resolver covers; shrinks when most of an answer had to be discarded.
    private var window = Int.max
    /// Positions of recipients in the list, if they are not one contiguous range of it.
    private var selection: [Int32] = []
    private var isSelection = false
    /// What each audience gave last, alone: an event may ask for it ten thousand times, and looks at its stale devices once.
    private var choices: [Choice?] = []
    /// How much of the selection the choices are.
    private var chosenCount = 0
    private var chosen = DeviceSet()

    /// The recipients of one audience at a time.
    private struct Choice {
        var time: WallTime
        var recipients: Recipients
        /// Whether they are positions in the selection, not in the list.
        var isSelection: Bool
        /// The call of ``FanOut/recipients(of:in:)`` that it was last a part of.
        var call: Int
    }
    private var calls = 0

    /// - Parameters:
    ///   - maxAge: devices last seen longer than this before the event are left out.
    ///   - maxDevices: of the audiences of an event, no more is read once they have more devices than this, stale ones
    ///     included: enough to see that they are too many.
    ///   - requestApps: the apps whose devices requests reach; empty: all.
    package init(
        audienceRule: any AudienceRule, recipients: RecipientSource, maxAge: Duration, maxDevices: Int = Int.max - 1,
        requestApps: [String] = []
    ) throws(SubscriptionTableError) {
        rule = audienceRule
        self.requestApps = requestApps
        self.maxAge = maxAge.wholeMilliseconds
        self.maxDevices = maxDevices
        switch recipients {
        case .table(let table):
            reader = try table.makeReader()
            resolver = nil
        case .resolver(let own):
            reader = nil
            resolver = own
        }
        history = nil
    }

    /// A fan-out over past subscriptions: set on `history`, before each transaction, which of them it sees.
    package init(
        audienceRule: any AudienceRule, history: any PastSubscriptions, maxAge: Duration,
        maxDevices: Int = Int.max - 1, requestApps: [String] = []
    ) {
        rule = audienceRule
        self.requestApps = requestApps
        self.maxAge = maxAge.wholeMilliseconds
        self.maxDevices = maxDevices
        self.history = history
        reader = nil
        resolver = nil
    }

    /// Takes a new snapshot of the table. Every ``Device`` of the previous transaction becomes invalid.
    package mutating func beginTransaction() throws(SubscriptionTableError) {
        try reader?.begin()
    }

    /// Releases the snapshot, so that an idle worker does not keep old pages alive.
    package mutating func endTransaction() {
        reader?.end()
    }

    /// The offsets that the snapshot contains, by partition; nil with a user's resolver.
    package var tableOffsets: [Int64]? {
        switch reader {
        case .some(let reader): reader.offsets
        case .none: history?.positions
        }
    }

    /// Devices from a user's resolver that cannot be sent to, in the latest ``resolve(_:from:limit:)``.
    package var rejectedDevices: Int { list.rejected }

    /// Runs rule and resolver for the notifications from `first` on.
    ///
    /// Stops after the event whose devices exceed `limit`, and returns the end (exclusive) of the resolved
    /// notifications: whole events, at least one. Errors of rule and resolver are rethrown.
    package mutating func resolve(_ batch: borrowing EventBatch, from first: Int, limit: Int) throws -> Int {
        let end = windowEnd(batch, from: first)
        self.first = first
        audiences.removeAll()
        linkStarts.removeAll(keepingCapacity: true)
        switch batch.source {
        case .orders:
            try rule.addAudiences(of: batch, notifications: first..<end, to: &audiences)
            try audiences.checkLinks(within: first..<end)
            isLimitedToApps = false
        case .requests:
            addNamedAudiences(of: batch, first..<end)
            isLimitedToApps = !requestApps.isEmpty
        }
        list.removeAll(audiences: audiences.count)
        ranges.removeAll(keepingCapacity: true)
        ranges.append(contentsOf: repeatElement(nil, count: audiences.count))
        choices.removeAll(keepingCapacity: true)
        choices.append(contentsOf: repeatElement(nil, count: audiences.count))
        selection.removeAll(keepingCapacity: true)
        chosenCount = 0
        isCut.removeAll(keepingCapacity: true)
        countedFor.removeAll(keepingCapacity: true)
        countedFor.append(contentsOf: repeatElement(-1, count: audiences.count))
        if let resolver {
            try resolver.resolve(audiences, into: &list)
            collectRanges()
        }
        let resolved = try count(batch, first..<end, limit)
        if resolver != nil {
            let share = resolved - first
            window = resolved < end ? share * 2 : window > Int.max / 2 ? Int.max : max(window * 2, 64)
        }
        return resolved
    }

    /// The audiences that requests name.
    private mutating func addNamedAudiences(of batch: borrowing EventBatch, _ notifications: Range<Int>) {
        for index in notifications {
            switch batch.notifications[index].kind {
            case .order: continue
            case .request(_, let request):
                for audience in batch.requests[request].audiences {
                    audiences.append("", batch.bytes(batch.audiences[audience]), for: index)
                }
            }
        }
    }

    private func isLastOfEvent(_ index: Int, of batch: borrowing EventBatch, _ end: Int) -> Bool {
        index + 1 == end || batch.notifications[index + 1].record != batch.notifications[index].record
    }

    /// The devices of one resolved notification, each once, without stale ones. Valid until the next call.
    ///
    /// Costs what it returns, however many devices of its audiences are stale.
    package mutating func recipients(of notification: Int, in batch: borrowing EventBatch) -> Recipients {
        isSelection = false
        var result = Recipients.none
        let index = notification - first
        guard linkStarts.indices.contains(index + 1) else { return result }
        let links = linkStarts[index]..<linkStarts[index + 1]
        let time = batch.notifications[notification].eventTime
        calls += 1
        var stale = 0
        var most = 0
        for link in links {
            let audience = audiences.links[link].audience
            guard let choice = choose(audience, at: time) else { continue }
            stale += choice.recipients.stale
            guard !choice.recipients.devices.isEmpty else { continue }
            if most == 0 {
                result = choice.recipients
                isSelection = choice.isSelection
            }
            most += choice.recipients.devices.count
        }
        // Copies nothing where one audience has all of them.
        if most > result.devices.count { result = union(of: links, most: most) }
        result.stale = stale
        result.isTruncated = isCut[index]
        return result
    }

    /// The device at a position of the latest ``recipients(of:in:)``.
    package func recipient(_ position: Int) -> Device {
        list.devices[isSelection ? Int(selection[position]) : position]
    }

    /// The audience by which a device was found; valid until the next ``resolve(_:from:limit:)``.
    package func audience(of device: Device) -> UnsafeRawBufferPointer {
        audiences.bytes(Int(device.audience))
    }

    /// The end of the window, extended to the end of its last event.
    private func windowEnd(_ batch: borrowing EventBatch, from first: Int) -> Int {
        let count = batch.notifications.count
        guard resolver != nil, window < count - first else { return count }
        var end = first + window
        while end < count, batch.notifications[end].record == batch.notifications[end - 1].record {
            end += 1
        }
        return end
    }

    /// Adds event by event until the devices exceed the limit; reads the table as it goes.
    private mutating func count(
        _ batch: borrowing EventBatch, _ notifications: Range<Int>, _ limit: Int
    ) throws(SubscriptionTableError) -> Int {
        var link = 0
        var devices = 0
        // The devices of the event's audiences, each audience once. A resolver's answer is whole, however long it is.
        var counted = 0
        linkStarts.append(0)
        for index in notifications {
            while link < audiences.links.count, audiences.links[link].notification == index {
                let audience = audiences.links[link].audience
                link += 1
                guard counted <= maxDevices else { continue }
                let count = try range(of: audience).count
                devices += count
                if resolver == nil, countedFor[audience] != batch.notifications[index].record {
                    countedFor[audience] = batch.notifications[index].record
                    counted += count
                }
            }
            linkStarts.append(link)
            isCut.append(counted > maxDevices)
            guard isLastOfEvent(index, of: batch, notifications.upperBound) else { continue }
            if devices > limit { return index + 1 }
            counted = 0
        }
        return notifications.upperBound
    }

    private mutating func range(of audience: Int) throws(SubscriptionTableError) -> Range<Int> {
        if let known = ranges[audience] { return known }
        let start = list.count
        try reader?.addDevices(of: audiences.bytes(audience), as: Int32(audience), limit: maxDevices, to: &list)
        try history?.addDevices(of: audiences.bytes(audience), as: Int32(audience), limit: maxDevices, to: &list)
        ranges[audience] = start..<list.count
        return start..<list.count
    }

    /// Groups the devices of a resolver's answer by audience.
    private mutating func collectRanges() {
        list.putInOrder()
        var position = 0
        for audience in 0..<audiences.count {
            let start = position
            while position < list.count, Int(list.devices[position].audience) == audience {
                position += 1
            }
            ranges[audience] = start..<position
        }
    }

    /// The recipients of an audience; nil if this call has had them already.
    private mutating func choose(_ audience: Int, at time: WallTime) -> Choice? {
        if var known = choices[audience], known.time == time {
            guard known.call != calls else { return nil }
            known.call = calls
            choices[audience] = known
            return known
        }
        selection.removeSubrange(chosenCount...)
        var choice = Choice(time: time, recipients: .none, isSelection: false, call: calls)
        let range = ranges[audience] ?? 0..<0
        if resolver != nil {
            selectDistinct(range, at: time, &choice.recipients)
            choice.isSelection = true
        } else if !isFresh(range, at: time, &choice.recipients) {
            select(range, at: time, &choice.recipients)
            choice.isSelection = true
        }
        choices[audience] = choice
        chosenCount = selection.count
        return choice
    }

    /// Whether none of an audience's devices is left out, as is usual: the result is then a range of the list, and nothing
    /// is copied.
    private func isFresh(_ range: Range<Int>, at time: WallTime, _ result: inout Recipients) -> Bool {
        if isLimitedToApps { return false }
        var platforms = PlatformSet()
        for position in range {
            if list.devices[position].isStale(at: time, maxAge: maxAge) { return false }
            platforms.insert(list.devices[position].platformSet)
        }
        result.devices = range.isEmpty ? 0..<0 : range
        result.platforms = platforms
        return true
    }

    private mutating func select(_ range: Range<Int>, at time: WallTime, _ result: inout Recipients) {
        let start = selection.count
        for position in range where isReached(position) {
            if list.devices[position].isStale(at: time, maxAge: maxAge) {
                result.stale += 1
            } else {
                append(position, to: &result)
            }
        }
        endSelection(from: start, &result)
    }

    /// The same of a resolver's answer, which may have a device more than once: one that is stale in one place is sent to
    /// if it is not in another.
    private mutating func selectDistinct(_ range: Range<Int>, at time: WallTime, _ result: inout Recipients) {
        let start = selection.count
        chosen.reset(for: range.count)
        for stale in [false, true] {
            for position in range where isReached(position) {
                guard list.devices[position].isStale(at: time, maxAge: maxAge) == stale,
                    chosen.insert(position, in: list.devices)
                else { continue }
                if stale { result.stale += 1 } else { append(position, to: &result) }
            }
        }
        endSelection(from: start, &result)
    }

    private func isReached(_ position: Int) -> Bool {
        !isLimitedToApps || requestApps.contains { list.devices[position].app.elementsEqual($0.utf8) }
    }

    /// The recipients of audiences that were chosen, each once: by the first audience in which it is not stale.
    private mutating func union(of links: Range<Int>, most: Int) -> Recipients {
        var result = Recipients.none
        isSelection = true
        selection.removeSubrange(chosenCount...)
        chosen.reset(for: most)
        for link in links {
            guard let choice = choices[audiences.links[link].audience] else { continue }
            for index in choice.recipients.devices {
                let position = choice.isSelection ? Int(selection[index]) : index
                if chosen.insert(position, in: list.devices) { append(position, to: &result) }
            }
        }
        endSelection(from: chosenCount, &result)
        return result
    }

    private mutating func append(_ position: Int, to result: inout Recipients) {
        selection.append(Int32(position))
        result.platforms.insert(list.devices[position].platformSet)
    }

    private func endSelection(from start: Int, _ result: inout Recipients) {
        result.devices = selection.count == start ? 0..<0 : start..<selection.count
    }
}
