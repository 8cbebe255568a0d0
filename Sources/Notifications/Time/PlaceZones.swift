import Glibc

/// The time zone of every place: the default, and the places with their own.
///
/// Looks a place up by its bytes: no `String` on the hot path.
package struct PlaceZones: Sendable {
    let standard: TimeZoneTable
    /// The ids of the places with a zone of their own, sorted by their bytes, concatenated.
    private let names: [UInt8]
    /// Where each id ends in ``names``.
    private let ends: [Int]
    private let zones: [TimeZoneTable]

    /// - Throws: ``UnknownTimeZones`` with every name that is not a time zone.
    package init(standard: String, places: [String: String]) throws(UnknownTimeZones) {
        var unknown = UnknownTimeZones()
        var tables: [String: TimeZoneTable] = [:]
        for name in Set(places.values).union([standard]) {
            tables[name] = name == "UTC" ? .utc : TimeZoneTable(identifier: name)
        }
        if tables[standard] == nil {
            unknown.timeZone = standard
        }
        var names: [UInt8] = []
        var ends: [Int] = []
        var zones: [TimeZoneTable] = []
        for (place, name) in places.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            guard let table = tables[name] else {
                unknown.placeTimeZones[place] = name
                continue
            }
            names += place.utf8
            ends.append(names.count)
            zones.append(table)
        }
        guard unknown == UnknownTimeZones() else { throw unknown }
        self.standard = tables[standard] ?? .utc
        self.names = names
        self.ends = ends
        self.zones = zones
    }

    package func zone(of place: UnsafeRawBufferPointer) -> TimeZoneTable {
        var low = 0
        var high = ends.count
        while low < high {
            let middle = (low + high) / 2
            switch compare(middle, with: place) {
            case 0: return zones[middle]
            case ..<0: low = middle + 1
            default: high = middle
            }
        }
        return standard
    }

    /// Negative if the name with this index sorts before the place.
    private func compare(_ index: Int, with place: UnsafeRawBufferPointer) -> Int {
        let start = index == 0 ? 0 : ends[index - 1]
        let count = ends[index] - start
        let order = names.withUnsafeBytes { names in
            guard let name = names.baseAddress, let other = place.baseAddress else { return Int32(0) }
            return memcmp(name + start, other, min(count, place.count))
        }
        return order != 0 ? Int(order) : count - place.count
    }
}
