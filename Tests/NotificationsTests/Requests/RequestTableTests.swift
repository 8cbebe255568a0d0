import TestSupport
import Testing

@testable import Notifications

@Suite("The table of requests: by key, and in the order of their last records")
struct RequestTableTests {
    private func entry(_ key: UInt64, offset: Int64) -> RequestEntry {
        // A few places in the index for all of them.
        RequestEntry(key: RequestKey(high: key, low: key % 5), content: key, offset: offset, time: UInt32(offset))
    }

    private func keys(_ table: borrowing RequestTable) -> [UInt64] {
        var keys: [UInt64] = []
        var slot = table.first
        while slot != 0 {
            keys.append(table[slot].key.high)
            slot = table[slot].next
        }
        return keys
    }

    @Test("it has what a list has, after any changes, and after taking them back")
    func likeAList() throws {
        var random = SeededGenerator(seed: try RunSeed.value())
        var table = RequestTable()
        var list: [UInt64] = []
        for round in 0..<300 {
            let before = list
            var undo: [RequestChange] = []
            for step in 0..<Int.random(in: 1...30, using: &random) {
                let offset = Int64(round * 100 + step)
                let key = UInt64.random(in: 0..<200, using: &random)
                if Int.random(in: 0..<3, using: &random) == 0, table.first != 0 {
                    undo.append(.removed(table[table.first]))
                    table.remove(table.first)
                    list.removeFirst()
                } else if let index = list.firstIndex(of: key) {
                    let slot = table.find(entry(key, offset: 0).key)
                    undo.append(.renewed(slot, table[slot]))
                    table.renew(slot, entry(key, offset: offset))
                    list.remove(at: index)
                    list.append(key)
                } else {
                    undo.append(.added)
                    _ = table.append(entry(key, offset: offset))
                    list.append(key)
                }
            }
            let changed = keys(table)
            let count = table.count
            #expect(changed == list && count == list.count)
            if round % 2 == 0 {
                for change in undo.reversed() {
                    switch change {
                    case .added: table.remove(table.last)
                    case .renewed(let slot, let entry): table.restore(slot, entry)
                    case .removed(let entry): _ = table.prepend(entry)
                    case .clock: break
                    }
                }
                list = before
                let restored = keys(table)
                #expect(restored == list)
            }
            for key in UInt64(0)..<200 {
                let slot = table.find(entry(key, offset: 0).key)
                let found = slot == 0 ? nil : table[slot].key.high
                #expect(found == (list.contains(key) ? key : nil))
            }
        }
    }
}
