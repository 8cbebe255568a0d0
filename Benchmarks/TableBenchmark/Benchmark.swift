import Foundation
import Notifications
import StateStore

/// How long a look-up of a place's devices takes in a stored table, without the rest of the pipeline.
///
/// `TableBenchmark FOLDER AUDIENCES [LOOKUPS]` reads the table that `limit subscriptions` makes in a folder that nothing
/// else has open, and prints JSON: nanoseconds for a look-up of a random place, and how many devices were found.
@main struct Benchmark {
    /// Look-ups by the snapshot of one transaction.
    private static let perSnapshot = 20_000

    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let folder = arguments.first, let audiences = arguments.dropFirst().first.flatMap({ Int($0) }),
            audiences > 0
        else {
            print("usage: TableBenchmark FOLDER AUDIENCES [LOOKUPS]")
            exit(64)
        }
        let lookups = arguments.dropFirst(2).first.flatMap { Int($0) } ?? 1_000_000
        let (store, _) = try DiskStore.open(folder)
        let table = SubscriptionTable(
            store: store, topic: "", position: .beginning(at: [], time: .epoch))
        do {
            var reader = try table.makeReader()
            // Not counted: it brings the pages into this process.
            _ = try run(&reader, lookups, audiences)
            let began = ContinuousClock.now
            let found = try run(&reader, lookups, audiences)
            let each = (ContinuousClock.now - began) / lookups
            print(
                "{\"lookups\": \(lookups), \"devices\": \(found), \"ns\": \(each.components.attoseconds / 1_000_000_000)}"
            )
        }
        try store.close()
    }

    /// - Returns: the number of devices found.
    private static func run(_ reader: inout TableReader, _ lookups: Int, _ audiences: Int) throws -> Int {
        var list = DeviceList()
        var audience = Array("place/00000000-0000-4000-8000-000000000000".utf8)
        var random: UInt64 = 88_172_645_463_325_252
        var found = 0
        for lookup in 0..<lookups {
            if lookup % perSnapshot == 0 { try reader.begin() }
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            var number = Int(random % UInt64(audiences))
            for index in (6..<14).reversed() {
                audience[index] = UInt8(ascii: "0") + UInt8(number % 10)
                number /= 10
            }
            list.removeAll(audiences: 1)
            try audience.withUnsafeBytes { try reader.addDevices(of: $0, as: 0, limit: 10_000, to: &list) }
            found += list.count
        }
        return found
    }
}
