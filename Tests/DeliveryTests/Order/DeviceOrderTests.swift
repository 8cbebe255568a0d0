import Testing

@testable import Delivery

@Suite("What waits of a device")
struct DeviceOrderTests {
    @Test("only the lowest offset of a device is first, in whatever order records are added")
    func order() {
        var order = DeviceOrder()
        for offset in [30, 10, 20] as [Int64] { order.put(offset, of: 7, at: .tier(0)) }
        order.put(5, of: 8, at: .held)
        #expect(order.first(of: 7)?.offset == 10 && order.last(of: 7)?.offset == 30 && order.count == 4)
        #expect(order.first(of: 8) == .init(offset: 5, place: .held) && order.first(of: 9) == nil)
        #expect(order.predecessor(of: 20, 7)?.offset == 10 && order.predecessor(of: 10, 7) == nil)
        #expect(order.successor(of: 10, 7)?.offset == 20 && order.successor(of: 30, 7) == nil)
        order.remove(10, of: 7)
        #expect(order.first(of: 7)?.offset == 20 && order.place(of: 10, 7) == nil)
    }

    @Test("a record that moves to another tier keeps its place in the order")
    func moves() {
        var order = DeviceOrder()
        order.put(10, of: 7, at: .held)
        order.put(20, of: 7, at: .tier(0))
        order.put(10, of: 7, at: .tier(2))
        #expect(order.first(of: 7) == .init(offset: 10, place: .tier(2)) && order.count == 2)
        #expect(order.place(of: 20, 7) == .tier(0))
    }

    @Test("a device without records takes no memory, and removing what is not there does nothing")
    func empty() {
        var order = DeviceOrder()
        order.put(10, of: 7, at: .held)
        order.remove(11, of: 7)
        order.remove(10, of: 8)
        #expect(!order.isEmpty && order.count == 1)
        order.remove(10, of: 7)
        #expect(order.isEmpty && order.count == 0)
    }
}
