import Testing

@testable import Pipeline

@Suite struct PropertiesFileTests {
    @Test("comments, blanks, continued lines, Windows line ends and = in values are read as Kafka's tools do")
    func format() {
        let file = PropertiesFile("# c\r\n! c\r\n\r\n a = b = c \r\nlong=one,\\\n  two\nempty=\n")
        #expect(
            file.lines == [
                .init(number: 4, key: "a", value: "b = c"), .init(number: 5, key: "long", value: "one,two"),
                .init(number: 7, key: "empty", value: ""),
            ])
        #expect(file.malformed.isEmpty)
    }

    @Test("a line that is no pair is known by its number alone")
    func malformed() {
        let file = PropertiesFile("a=1\npassword hunter2\n=x\n")
        #expect(file.malformed == [2, 3])
        #expect(file.lines.map(\.key) == ["a"])
    }
}
