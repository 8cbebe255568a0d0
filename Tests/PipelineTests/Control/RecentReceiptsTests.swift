import Notifications
import Pipeline
import Testing

@Suite("Receipts of late")
struct RecentReceiptsTests {
    @Test("the newest are remembered, and no more than there is room for")
    func remembered() {
        var known = RecentReceipts()
        func receipt(_ number: Int) -> Receipt {
            Receipt(.opened, of: "m\(number)", device: "d", at: 0, platform: .fcm, app: "")
        }
        for number in 0..<(RecentReceipts.most + 2) { known.insert(receipt(number)) }
        #expect(!known.contains(receipt(0)) && !known.contains(receipt(1)) && known.contains(receipt(2)))
        let isNew = known.insert(receipt(RecentReceipts.most + 1))
        #expect(!isNew)
    }
}
