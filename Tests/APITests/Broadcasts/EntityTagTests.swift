import Testing

@testable import API

@Suite("API: If-Match") struct EntityTagTests {
    @Test(
        "tags are compared as they are, a weak one matches nothing, and what is none is refused",
        arguments: [
            (#""0-7""#, true), (#""0-8""#, false), (#" "0-8" , "0-7""#, true), ("*", true), (#"W/"0-7""#, false),
            ("0-7", nil), ("", nil), (#""0-7", *"#, nil), (#""0-7"#, nil), (#""a"b""#, nil),
        ] as [(String, Bool?)])
    func condition(header: String, isMet: Bool?) {
        #expect(EntityTag.condition(header).map { EntityTag.isMet($0, by: #""0-7""#) } == isMet)
    }
}
