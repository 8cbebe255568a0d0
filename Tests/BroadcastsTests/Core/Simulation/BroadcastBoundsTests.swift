import Testing

@testable import Broadcasts

@Suite("The bounds of broadcasts")
struct BroadcastBoundsTests {
    @Test("a hundred million devices on 256 partitions: less than 150 MB a worker, 251 transactions a broadcast")
    func hundredMillion() {
        let bounds = BroadcastBounds(devices: 100_000_000, partitions: 256, workers: 8)
        #expect(bounds.devicesOfAPartition == 390_625 && bounds.partitionsOfAWorker == 32)
        #expect(bounds.pending == 181_000 && bounds.staged == 21_000 && bounds.late == 50_010)
        #expect(bounds.visited == 320_000)
        #expect(bounds.bytes < 150_000_000)
        #expect(bounds.transactions == 251)
        // At 20,000 a second and worker, ten and a half minutes.
        #expect(bounds.seconds(perSecond: 20_000) == 625)
    }

    @Test("one worker with everything has less than 1 GB")
    func oneWorker() {
        let bounds = BroadcastBounds(devices: 100_000_000, partitions: 256, workers: 1)
        #expect(bounds.bytes < 1_000_000_000 && bounds.transactions == 2_001)
    }

    @Test("a pass takes no more transactions than computed", arguments: [1, 7, 30, 90, 91])
    func transactions(budget: Int) throws {
        let trial = CoreTrial()
        for device in 0..<90 { trial.join([TestDevice(device)], partition: Int32(device % 3)) }
        for partition: Int32 in 0..<3 { try trial.own(partition) }
        trial.publish("1")
        var (transactions, pushes) = (0, 0)
        while case let result = try trial.transact(budget: budget), result.entry != nil {
            transactions += 1
            pushes += result.pushes.count
        }
        let bounds = BroadcastBounds(devices: 90, partitions: 3, workers: 1, mostRecords: budget)
        #expect(pushes == 90 && transactions <= bounds.transactions && transactions >= 90 / budget)
    }

    @Test("what a worker holds of a transaction is no more than computed")
    func held() throws {
        let bounds = BroadcastBounds(devices: 0, partitions: 1, workers: 1, mostRecords: 6, mostLate: 2)
        let trial = CoreTrial(mostLate: 2, mostRecords: 6)
        for id in 0..<5 { trial.publish("\(id)") }
        try trial.own(broadcast: 5)
        trial.join(TestDevice.inOrder(20))
        trial.see()
        while trial.hasRoom { try trial.take(1, 1) }
        #expect(trial.core.late.values.reduce(0) { $0 + $1.count } <= bounds.late && trial.open.planned == 6)
    }
}
