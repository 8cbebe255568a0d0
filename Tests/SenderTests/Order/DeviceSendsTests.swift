import Testing

@testable import Sender

@Suite("What of a device may have been sent")
struct DeviceSendsTests {
    @Test("of a device at most two are sent that the group does not know to have ended; others go on")
    func most() {
        var sends = DeviceSends(hasDoubts: false)
        sends.end(1, isFirst: true)
        #expect(sends.allows(1))
        sends.end(1, isFirst: true)
        #expect(!sends.allows(1) && sends.allows(2))
        sends.take()
        #expect(!sends.allows(1))
        sends.end(2, isFirst: true)
        sends.commit()
        #expect(sends.allows(1))
        sends.end(2, isFirst: true)
        #expect(!sends.allows(2))
    }

    @Test("an aborted transaction has committed nothing")
    func aborted() {
        var sends = DeviceSends(hasDoubts: false)
        sends.end(1, isFirst: true)
        sends.take()
        sends.end(1, isFirst: true)
        sends.abort()
        #expect(!sends.allows(1))
        sends.take()
        sends.commit()
        #expect(sends.allows(1))
    }

    @Test("a successor doubts the first two of each device, those that it has ended among them")
    func doubts() {
        var sends = DeviceSends(hasDoubts: true)
        #expect(sends.areDoubted(1, older: 1) && !sends.areDoubted(1, older: 2))
        for _ in 0..<2 { sends.end(3, isFirst: false) }
        #expect(sends.areDoubted(3, older: 0))
        sends.end(1, isFirst: true)
        #expect(sends.areDoubted(1, older: 0) && !sends.areDoubted(1, older: 1) && sends.areDoubted(2, older: 1))
        sends.take()
        sends.commit()
        sends.end(1, isFirst: true)
        #expect(!sends.areDoubted(1, older: 0))
    }
}
