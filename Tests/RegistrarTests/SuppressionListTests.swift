import JSONReader
import Notifications
import Testing

@testable import Registrar

@Suite("Who was erased")
struct SuppressionListTests {
    private func list(_ erasures: Erasure...) -> SuppressionList {
        var list = SuppressionList()
        var reader = JSONReader()
        for erasure in erasures { list.take(key: Array(erasure.person.hex.utf8), value: erasure.json, &reader) }
        return list
    }

    private func erasure(_ person: ByteText, at time: WallTime, _ addresses: [String: WallTime] = [:]) -> Erasure {
        let times = addresses.map { (AddressHash(of: $0.key), $0.value) }
        return Erasure(PersonHash(person), at: time, addresses: Dictionary(uniqueKeysWithValues: times))
    }

    private func subscription(_ audience: String, _ token: String = "t", registeredAt: WallTime?) -> Subscription {
        Subscription(audience: audience, token: token, platform: .fcm, app: "", registeredAt: registeredAt)
    }

    @Test("a subscription of an erased person is meant that was registered before, or nobody knows when")
    func registered() {
        let people = list(erasure("17", at: 1_000))
        #expect(people.includes(subscription("user/17", registeredAt: 1_000)))
        #expect(people.includes(subscription("user/17", registeredAt: nil)))
        // The person came back.
        #expect(!people.includes(subscription("user/17", registeredAt: 1_001)))
        for other in ["user/18", "place/17", "channel/17"] {
            #expect(!people.includes(subscription(other, registeredAt: 0)))
        }
    }

    @Test("every audience of an erased address is meant, until somebody registers it again")
    func addresses() {
        let erased = list(
            erasure("17", at: 1_000, ["a": 1_000, "b": 500]), erasure("18", at: 2_000, ["b": 2_000]),
            erasure("19", at: 3_000, ["b": 700]))
        for audience in ["user/20", "place/7", "channel/offers", "device/x"] {
            #expect(erased.includes(subscription(audience, "a", registeredAt: 1_000)))
            #expect(erased.includes(subscription(audience, "a", registeredAt: nil)))
            #expect(!erased.includes(subscription(audience, "a", registeredAt: 1_001)))
            #expect(erased.includes(subscription(audience, "b", registeredAt: 2_000)))
            #expect(!erased.includes(subscription(audience, "b", registeredAt: 2_001)))
            #expect(!erased.includes(subscription(audience, "c", registeredAt: 0)))
        }
    }

    @Test("an erasure is read as it was written; with more addresses than it may have those that were erased last stay")
    func record() throws {
        var reader = JSONReader()
        let few = erasure("17", at: 1_000, ["a": 1_000, "b": 500])
        #expect(Erasure(few.person, few.json, &reader) == few)
        let many = (0...Erasure.mostAddresses).map { ("t\($0)", WallTime(milliseconds: Int64($0))) }
        let most = erasure("17", at: 1_000, Dictionary(uniqueKeysWithValues: many))
        #expect(most.addresses.count == Erasure.mostAddresses && most.addresses[AddressHash(of: "t0")] == nil)
        #expect(Erasure(most.person, most.json, &reader) == most)
        #expect(most.json.count < 200_000)
    }

    @Test("people are known by bytes; what is no erasure of this version changes nothing")
    func foreign() {
        var people = list(erasure("é", at: 1_000), erasure("\u{301}", at: 1_000))
        var reader = JSONReader()
        let key = Array(PersonHash("18").hex.utf8)
        let hash = AddressHash(of: "t").hex
        for value in [
            #"{"version":1,"at":5}"#, #"{"version":2,"at":5}"#, #"{"version":2,"at":5,"addresses":["\#(hash)"]}"#,
            #"{"version":2,"at":5,"addresses":{"\#(hash)":"5"}}"#, #"{"version":2,"at":5,"addresses":{"t":5}}"#,
        ] {
            people.take(key: key, value: Array(value.utf8), &reader)
        }
        people.take(key: key, value: nil, &reader)
        people.take(key: nil, value: nil, &reader)
        people.take(key: Array("18".utf8), value: erasure("18", at: 5).json, &reader)
        #expect(people.includes(subscription("user/é", registeredAt: 0)))
        #expect(people.includes(subscription("user/\u{301}", registeredAt: 0)))
        #expect(!people.includes(subscription("user/e\u{301}", registeredAt: 0)))
        #expect(!people.includes(subscription("user/18", registeredAt: 0)))
    }
}
