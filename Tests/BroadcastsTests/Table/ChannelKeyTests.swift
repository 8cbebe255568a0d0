import TestSupport
import Testing

@testable import Broadcasts

@Suite("The keys of the table of channels")
struct ChannelKeyTests {
    private let channel = ChannelHash(of: "channel/a")

    private func key(_ device: [UInt8]) -> ChannelKey { ChannelKey(channel, device: device) }

    @Test("keys have the order of their bytes")
    func order() {
        let keys = TestDevice.inOrder(50).map { key($0.hashBytes) }
        var random = SeededGenerator(seed: 1)
        #expect(keys == keys.shuffled(using: &random).sorted())
        #expect(keys.allSatisfy { $0.audience == channel && ChannelHash(of: "channel/b") != $0.audience })
        #expect(keys.map(\.device) == TestDevice.inOrder(50).map(\.hashBytes))
    }

    @Test("the next key is one higher, over all bytes of the device")
    func successor() {
        let zeros = [UInt8](repeating: 0, count: 32)
        let ones = [UInt8](repeating: 0xFF, count: 32)
        #expect(key(zeros).successor == key(zeros.dropLast() + [1]))
        #expect(key([7] + ones.dropFirst()).successor == key([8] + zeros.dropFirst()))
        let half = [UInt8](repeating: 0, count: 16)
        #expect(key(half + ones.dropFirst(16)).successor == key(half.dropLast() + [1] + half))
    }

    @Test("after the last possible device of a channel there is none, not the first of another channel")
    func last() {
        #expect(key([UInt8](repeating: 0xFF, count: 32)).successor == nil)
    }
}
