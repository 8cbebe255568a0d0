import Foundation
import Notifications
import TestSupport
import Testing

@Suite struct TableCommandTests {
    @Test("a missing table is an error")
    func noTable() throws {
        let checked = try CommandProcess.run(["table", "check", "--state-dir", "/nonexistent/carillon"])
        #expect(checked.status == 1)
        #expect(checked.errors == "carillon: state.dir: there is no table in /nonexistent/carillon\n")
    }

    /// A table with 2,000 devices.
    private func fill(_ folder: TemporaryFolder) throws {
        let topic = SubscriptionTopic(
            name: "s", startOffsets: [0], endOffsets: [2_000], deleteRetention: .seconds(86_400))
        let table = try SubscriptionTable.open(directory: folder.path + "/subscriptions", topic: topic, now: .epoch)
            .table
        var changes = SubscriptionChanges()
        for number in 0..<2_000 {
            let value = Array(
                #"{"audience":"place/\#(number % 97)","token":"made-up-\#(number)","platform":"fcm"}"#.utf8)
            let key = Array(try Subscription.decode(value: value).key.utf8)
            key.withUnsafeBytes { key in
                value.withUnsafeBytes { value in
                    changes.append(SubscriptionRecord(partition: 0, offset: Int64(number), key: key, value: value))
                }
            }
        }
        var position = TablePosition.beginning(at: [2_000], time: .epoch)
        position.isWhole = true
        _ = try table.apply(&changes, position)
        try table.close()
    }

    @Test("a damaged table is a sentence and exit code 1, whatever its bytes are, and never a signal")
    func damaged() throws {
        let seed = try RunSeed.value()
        var generator = SeededGenerator(seed: seed)
        var found = 0
        for round in 0..<12 {
            let folder = TemporaryFolder()
            try fill(folder)
            let file = URL(fileURLWithPath: folder.path + "/subscriptions/data.mdb")
            var bytes = try Data(contentsOf: file)
            // Behind the two pages that say where the rest is.
            let pages = 8_192..<bytes.count
            if round == 0 {
                for index in pages { bytes[index] = 0xFF }
            } else {
                for _ in 0..<(1 << round) {
                    bytes[Int.random(in: pages, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
                }
            }
            try bytes.write(to: file)
            let checked = try CommandProcess.run(["table", "check", "--state-dir", folder.path])
            #expect(checked.status == 0 || checked.status == 1, "seed \(seed), round \(round): \(checked)")
            if round == 0 {
                #expect(checked.errors == "carillon: the table is damaged: LMDB could not read it to its end\n")
            }
            if checked.status == 1 {
                found += 1
                // Where an assertion of LMDB's fails, it names that first.
                let lines = checked.errors.split(separator: "\n").drop { $0.hasPrefix("mdb.c:") }
                #expect(lines.count == 1, "seed \(seed), round \(round): \(checked)")
                #expect(lines.first?.hasPrefix("carillon: ") == true)
            }
        }
        #expect(found > 6, "seed \(seed)")
    }
}
