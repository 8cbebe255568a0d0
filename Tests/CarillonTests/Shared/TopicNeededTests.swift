import Testing

@Suite("Commands that need a topic that has no name by default") struct TopicNeededTests {
    @Test(
        "without it the exit code is 78, and the sentence says what is not so, how the topic is called, and who else needs it",
        arguments: [
            (["people", "show", "17"], "commands", "there is no registrar", "carillon run --roles registrar"),
            (["deliver", "paused"], "control", "no sender can be told", "carillon deliver"),
            (["broadcast", "list"], "broadcasts", "nothing reads broadcasts", "carillon broadcasts"),
            (
                ["notify", "--audience", "user/17", "--title", "T", "--body", "B", "--app-type", "NewBill", "--yes"],
                "requests",
                "nothing reads requests", "carillon run"
            ),
        ])
    func missing(words: [String], topic: String, consequence: String, other: String) throws {
        let result = try CommandProcess.run(words + ["-b", "127.0.0.1:1"], environment: ["HOME": "/home/x"])
        #expect(result.status == 78)
        #expect(
            result.errors
                == "carillon: topic.\(topic) is not set, so \(consequence): set it to its topic, such as "
                + "notifications.\(topic), also where '\(other)' runs\n")
    }
}
