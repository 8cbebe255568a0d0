import Notifications

/// The pushes that are withdrawn, by the hash of their address.
package struct WithdrawnPushes: Sendable {
    /// Of one address, the newest.
    static let mostOfOne = 100

    struct Entry: Sendable {
        /// The offset of the registrar's command.
        var command: Int64
        /// The broker's time of the record.
        var at: WallTime
        var withdrawal: WithdrawalEntry
    }

    private(set) var byAddress = SharedTable<[Entry]>()

    /// Of how many addresses.
    package var count: Int { byAddress.count }

    /// Whether a push is not to be sent. Exact where the command is known: what was subscribed by an older one than the
    /// withdrawal's is meant, however late a pipeline has written the push; what was subscribed again is not.
    ///
    /// - Parameters:
    ///   - address: the hash of its device's, 64 digits of hex.
    ///   - audience: asked for where the address has a withdrawal.
    ///   - command: by which the device was subscribed; nil: by none.
    ///   - appended: when the push was written; nil: that is not known.
    ///   - lag: so long after a withdrawal, in milliseconds, a push of which nobody knows by which command its device was
    ///     subscribed may be of a table that is older.
    package func covers(
        address: String, command: Int64?, appended: WallTime?, lag: Int64, at now: WallTime, audience: () -> Hash128?
    ) -> Bool {
        guard count > 0, let entries = Hash128(hex: address).flatMap({ byAddress[$0] }), let audience = audience()
        else { return false }
        return entries.contains { entry in
            guard now - entry.at < ControlView.longest, entry.withdrawal.covers(audience) else { return false }
            return if let command {
                command < entry.command
            } else {
                appended.map { $0 <= entry.at + lag } ?? true
            }
        }
    }

    /// - Returns: by how much ``WithdrawalEntry/weight`` of the address's entries has grown; those that leave for it lessen it.
    mutating func add(_ entry: Entry, to address: Hash128) -> Int {
        var entries = byAddress[address] ?? []
        let before = entries.reduce(0) { $0 + $1.withdrawal.weight }
        entries.removeAll { $0.command == entry.command }
        entries.append(entry)
        if entries.count > Self.mostOfOne { entries.removeFirst() }
        byAddress[address] = entries
        return entries.reduce(0) { $0 + $1.withdrawal.weight } - before
    }

    /// - Parameter time: of the record; nil: whatever it is.
    /// - Returns: how much it counted.
    mutating func remove(_ command: Int64, at time: WallTime?, of address: Hash128) -> Int {
        guard var entries = byAddress[address],
            let index = entries.firstIndex(where: { $0.command == command && (time ?? $0.at) == $0.at })
        else { return 0 }
        let entry = entries.remove(at: index)
        byAddress[address] = entries.isEmpty ? nil : entries
        return entry.withdrawal.weight
    }
}
