import Testing

@testable import Sender

@Suite("Offsets that are to be read again")
struct WantedOffsetsTests {
    @Test("they are ascending, each once, and the next one from an offset on is found")
    func next() {
        var wanted = WantedOffsets()
        for offset in [30, 10, 20] as [Int64] { #expect(wanted.insert(offset) == true) }
        #expect(wanted.insert(20) == false && wanted.count == 3)
        #expect(wanted.next(from: 0) == 10 && wanted.next(from: 11) == 20 && wanted.next(from: 31) == nil)
        #expect(wanted.contains(20) && wanted.remove(20) == true && wanted.remove(20) == false)
        #expect(!wanted.contains(20) && wanted.next(from: 11) == 30)
    }
}
