import TestSupport
import Testing

@testable import Sender

@Suite("What waits of a device")
struct DeviceOrderTests {
    @Test("only the lowest offset of a device is first, in whatever order records are added")
    func order() {
        var order = DeviceOrder()
        for offset in [30, 10, 20] as [Int64] { order.put(offset, of: 7, as: .tier(0)) }
        order.put(5, of: 8, as: .held)
        #expect(order.first(of: 7)?.offset == 10 && order.line(of: 7)?.count == 3)
        #expect(order.first(of: 8) == .init(offset: 5, state: .held) && order.first(of: 9) == nil)
        #expect((0..<3).map { order.line(of: 7)?[$0].offset } == [10, 20, 30])
        order.remove(10, of: 7)
        #expect(order.first(of: 7)?.offset == 20 && order.state(of: 10, 7) == nil)
    }

    @Test("a record that moves to another tier keeps its place in the order")
    func moves() {
        var order = DeviceOrder()
        order.put(10, of: 7, as: .held)
        order.put(20, of: 7, as: .tier(0))
        order.put(10, of: 7, as: .tier(2))
        #expect(order.first(of: 7) == .init(offset: 10, state: .tier(2)) && order.line(of: 7)?.count == 2)
        #expect(order.state(of: 20, 7) == .tier(0))
    }

    @Test("a device without records takes no memory, and removing what is not there does nothing")
    func empty() {
        var order = DeviceOrder()
        order.put(10, of: 7, as: .held)
        order.remove(11, of: 7)
        order.remove(10, of: 8)
        #expect(!order.isEmpty)
        order.remove(10, of: 7)
        #expect(order.isEmpty && order.line(of: 7) == nil)
    }

    @Test("random additions, moves and removals: the same as a sorted list")
    func naive() {
        var random = SeededGenerator(seed: 1)
        var order = DeviceOrder()
        var expected: [Int64: DeviceOrder.State] = [:]
        var next: Int64 = 0
        for _ in 0..<20_000 {
            switch Int.random(in: 0..<8, using: &random) {
            case 0..<3:
                next += Int64(Int.random(in: 1...3, using: &random))
                expected[next] = .held
                #expect(order.put(next, of: 7, as: .held) == expected.count - 1)
            case 3:
                guard let offset = expected.keys.sorted().randomElement(using: &random) else { continue }
                expected[offset] = .log(tier: nil, offset)
                order.put(offset, of: 7, as: .log(tier: nil, offset))
            case 4:
                guard let offset = expected.keys.sorted().randomElement(using: &random) else { continue }
                expected[offset] = nil
                order.remove(offset, of: 7)
            default:
                guard let first = expected.keys.min() else { continue }
                #expect(order.first(of: 7) == expected[first].map { .init(offset: first, state: $0) })
                expected[first] = nil
                order.remove(first, of: 7)
            }
            #expect(order.line(of: 7)?.count ?? 0 == expected.count)
        }
        for offset in expected.keys { #expect(order.state(of: offset, 7) == expected[offset]) }
    }
}
