import Testing

@Suite struct OrdersListEventCommandTests {
    @Test("orders list-event validates the event before writing it: 64 with the invalid value")
    func listEventIsChecked() throws {
        func run(_ arguments: String...) throws -> CommandProcess {
            try CommandProcess.run(["orders", "list-event", "--dry-run"] + arguments)
        }
        for (arguments, complaint) in [
            (["--place", "42"], "--ids is missing"),
            (["--place", "42", "--ids", " , "], "--ids: there is no id in it"),
            (["--place", "42", "--ids", "1", "--date", "22.11.2026"], "--date 22.11.2026 is not allowed"),
            (["--place", "42", "--ids", "1", "--start", "25:00"], "--start 25:00 is not allowed"),
            (["--place", "42", "--ids", "1", "--end", "16:00", "--start", "x"], "--start x is not allowed"),
            (["--place", " ", "--ids", "1"], "the event would be a dead letter, no_place"),
            (["--place", "42", "--ids", "@/nowhere"], "--ids @/nowhere: the file cannot be read"),
        ] {
            let result = try CommandProcess.run(["orders", "list-event", "--dry-run"] + arguments)
            #expect(result.status == 64, "\(arguments)")
            #expect(result.errors.contains(complaint), "\(result.errors)")
        }
        let noBroker = try CommandProcess.run(["orders", "list-event", "--place", "42", "--ids", "1"])
        #expect(noBroker.status == 78)
        let event = try run(
            "--place", "42", "--ids", "4711, 4712", "--ids", "4711", "--date", "2026-11-22", "--start", "14:00")
        #expect(event.status == 0)
        let rendered = try CommandProcess.render([], events: event.output)
        #expect(rendered.outline == ["order_ids_listed", "order_ids_listed"])
        #expect(rendered.output.contains(#"delivery_date\\\":\\\"2026-11-22\\\",\\\"start_time\\\":\\\"14:00"#))
    }
}
