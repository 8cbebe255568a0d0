import JSONReader
import Testing

@testable import Registrar

@Suite("Commands as records")
struct CommandRecordTests {
    private func read(_ members: String) -> Command? {
        var reader = JSONReader()
        return Command(Array(#"{"version":1,"by":"key:backend",\#(members)}"#.utf8), &reader)
    }

    private let device = #""action":"change_device","device":"installation-0001","whole":true"#

    @Test(
        "a member of the wrong type makes it none: absent it would mean something else",
        arguments: [
            #""generation":"7""#, #""app":7"#, #""locale":5"#, #""time_zone":true"#, #""person":17"#,
            #""environment":"prod""#, #""environment":null"#, #""new_credential":"secret""#, #""audiences":null"#,
            #""address":{"kind":"sms","value":"a"}"#, #""if_revision":"4711""#, #""if_exists":1"#, #""if_person":17"#,
            #""adds":"place/1""#,
        ])
    func wrongType(member: String) {
        #expect(read(device) != nil)
        #expect(read("\(device),\(member)") == nil)
    }

    @Test("so does a text without a bound")
    func bounds() {
        let hash = String(repeating: "0", count: 64)
        func bury(_ reason: String, _ app: String) -> String {
            #""action":"bury_address","address_sha256":"\#(hash)","platform":"fcm","at":1,"#
                + #""reason":"\#(reason)","app":"\#(app)""#
        }
        let (most, tooMuch) = (String(repeating: "x", count: 255), String(repeating: "x", count: 256))
        #expect(read(bury(most, most)) != nil)
        #expect(read(bury(tooMuch, most)) == nil)
        #expect(read(bury(most, tooMuch)) == nil)
    }
}
