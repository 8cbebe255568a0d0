import NotificationPayload
import TestSupport
import Testing

@testable import Notifications
@testable import Pipeline

@Suite("The settings audiences and audiences.<type> (docs/rules.md §5.4)")
struct AudiencesSettingTests {
    @Test("they reach the rules; a type without its own has those of all, and what timers send keeps the place")
    func fields() throws {
        let loaded = LoadedConfiguration.of([
            "audiences": "place/{place_id}, user/{customer_id}", "audiences.order_created": "user/{customer_id}",
        ])
        let audiences = try loaded.checked().rules.audiences
        #expect(audiences.texts(of: .known(.orderCreated)) == ["user/{customer_id}"])
        for type in [EventType.orderStatusChanged, .orderIDsListed] {
            #expect(audiences.texts(of: .known(type)) == ["place/{place_id}", "user/{customer_id}"])
        }
        for type in [EventType.timeslotStarted, .unpickedOrdersReminder] {
            #expect(audiences.texts(of: .known(type)) == ["place/{place_id}"])
        }
        #expect(audiences.counted == ["user/{customer_id}", "place/{place_id}"])
        let usual = try LoadedConfiguration.of([:]).checked()
        #expect(usual.rules.audiences.counted == [] && usual.rules.audiences.description == [])
        #expect(usual.rulesHash == (try LoadedConfiguration.of(["audiences": "place/{place_id}"]).checked().rulesHash))
    }

    @Test("all problems come at once, each with its setting")
    func problems() {
        let problems = LoadedConfiguration.of([
            "audiences": "place/{place_id},team/{id},user/x", "audiences.order_created": "user/{a..b}",
        ]).problems
        #expect(problems.map(\.subject).allSatisfy { $0.contains("audiences") } && problems.count == 2)
        #expect(
            problems.first?.message.contains("; 'team/{id}' is none: it must be place/, user/, channel/ or device/")
                == true)
        #expect(problems.first?.message.contains("; 'user/x' has no member in braces after user/") == true)
        #expect(problems.last?.message.contains("'user/{a..b}' names no member") == true)
    }

    @Test("a timer knows the place and no other member: with schedule=on that is a problem")
    func timers() throws {
        let settings = ["audiences.timeslot_started": "place/{place_id},user/{customer_id}"]
        let problems = LoadedConfiguration.of(settings).problems
        #expect(problems.map(\.subject) == ["audiences.timeslot_started"])
        #expect(
            problems.first?.message.hasPrefix("'user/{customer_id}' names a member that a timer does not know") == true)
        #expect(LoadedConfiguration.of(settings.merging(["schedule": "off"]) { $1 }).problems.isEmpty)
    }
}
