import JSONReader
import Notifications
import Testing

@testable import Registrar

@Suite("Who was erased")
struct ErasedPeopleTests {
    private func erased(
        _ person: String, at time: WallTime, _ change: (inout ErasedPeople, inout JSONReader) -> Void = { _, _ in }
    )
        -> ErasedPeople
    {
        var people = ErasedPeople()
        var reader = JSONReader()
        let erasure = Erasure(PersonHash(ByteText(person)), at: time)
        people.take(key: Array(erasure.person.hex.utf8), value: erasure.json, &reader)
        change(&people, &reader)
        return people
    }

    private func subscription(_ audience: String, registeredAt: WallTime?) -> Subscription {
        Subscription(audience: audience, token: "t", platform: .fcm, app: "", registeredAt: registeredAt)
    }

    @Test("a subscription of an erased person is meant that was registered before, or nobody knows when")
    func registered() {
        let people = erased("17", at: 1_000)
        #expect(people.includes(subscription("user/17", registeredAt: 1_000)))
        #expect(people.includes(subscription("user/17", registeredAt: nil)))
        // The person came back.
        #expect(!people.includes(subscription("user/17", registeredAt: 1_001)))
        for other in ["user/18", "place/17", "channel/17"] {
            #expect(!people.includes(subscription(other, registeredAt: 0)))
        }
    }

    @Test("people are known by bytes; what is no erasure of this version changes nothing")
    func foreign() {
        let people = erased("é", at: 1_000) { people, reader in
            let key = Array(PersonHash("18").hex.utf8)
            people.take(key: key, value: Array("{\"version\":2,\"at\":5}".utf8), &reader)
            people.take(key: key, value: nil, &reader)
            people.take(key: nil, value: nil, &reader)
            people.take(key: Array("18".utf8), value: Array("{\"version\":1,\"at\":5}".utf8), &reader)
        }
        #expect(people.includes(subscription("user/é", registeredAt: 0)))
        #expect(!people.includes(subscription("user/e\u{301}", registeredAt: 0)))
        #expect(!people.includes(subscription("user/18", registeredAt: 0)))
    }
}
