import Notifications
import Testing

@testable import Sender

@Suite("What waits to be handed in")
struct PartitionIntakeTests {
    private func waiting(_ offset: Int64, _ partition: Int32 = 0, appendedAt: WallTime = 0) -> PartitionIntake.Waiting {
        PartitionIntake.Waiting(
            record: LaneRecord(
                partition: partition, source: offset, device: 1, deviceHash: "", messageID: "", platform: .fcm,
                credential: nil,
                expiresAt: 0), offset: offset, appendedAt: appendedAt)
    }

    @Test("Records leave in the order in which they came, however many have left")
    func order() {
        var intake = PartitionIntake()
        var left: [Int64] = []
        for offset in 0..<3_000 {
            intake.append(waiting(Int64(offset)), most: .max, mostBytes: .max)
            if offset % 3 == 2, let first = intake.first {
                left.append(first.offset)
                intake.removeFirst()
            }
        }
        while let first = intake.first {
            left.append(first.offset)
            intake.removeFirst()
        }
        #expect(left == (0..<3_000).map(Int64.init))
        #expect(intake.isEmpty)
    }

    @Test("what comes behind the last record that waits is reached when that one is handed in, though nothing follows")
    func reached() {
        var intake = PartitionIntake()
        intake.append(waiting(3), most: .max, mostBytes: .max)
        // Another lane's record, and the marker at the end of the partition.
        intake.reach(5)
        intake.append(waiting(5), most: .max, mostBytes: .max)
        intake.reach(8)
        intake.reach(7)
        #expect(intake.takeReached() == nil)
        intake.removeFirst()
        #expect(intake.takeReached() == nil)
        intake.removeFirst()
        #expect(intake.takeReached() == 8)
        #expect(intake.takeReached() == nil)
    }

    @Test("what finds no place is left in Kafka, and the partition is read again from there once nothing waits")
    func left() {
        var intake = PartitionIntake()
        for offset in 0..<2 as Range<Int64> {
            #expect(intake.isNext(offset) == true)
            intake.append(waiting(offset), most: 2, mostBytes: .max)
        }
        #expect(intake.isNext(2) == true)
        intake.append(waiting(2), most: 2, mostBytes: .max)
        #expect(intake.isNext(3) == false && intake.takeLeft() == nil)
        intake.reach(5)
        for _ in 0..<2 { intake.removeFirst() }
        #expect(intake.takeReached() == nil && intake.isEmpty && !intake.isIdle)
        #expect(intake.takeLeft() == 2 && intake.takeLeft() == nil)
        // What was fetched before is left out.
        #expect(intake.isNext(4) == false && intake.isNext(2) == true && intake.isNext(3) == true && intake.isIdle)
    }

    @Test("bytes are a limit of what waits too")
    func leftForBytes() {
        var intake = PartitionIntake()
        var large = waiting(0)
        large.record.size = 100
        intake.append(large, most: .max, mostBytes: 100)
        intake.append(waiting(1), most: .max, mostBytes: 100)
        intake.removeFirst()
        #expect(intake.takeLeft() == 1)
    }

    @Test("the oldest that waits is the first of one of the partitions")
    func oldest() {
        let intake = StreamIntake(.dispatch(.orders), topic: "dispatch")
        #expect(intake.oldest == nil)
        intake.wait(waiting(7, 0, appendedAt: 30))
        intake.wait(waiting(3, 1, appendedAt: 20))
        intake.wait(waiting(4, 1, appendedAt: 40))
        #expect(intake.oldest == 20)
        intake.removeFirstWaiting(1)
        #expect(intake.oldest == 30)
    }
}
