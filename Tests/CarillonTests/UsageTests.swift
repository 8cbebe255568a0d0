import Testing

@testable import carillon

@Suite struct UsageTests {
    @Test("usage problems end with 64, help and version with 0")
    func usage() throws {
        let misspelt = try CommandProcess.run(["chek-config"])
        #expect(misspelt.status == 64)
        #expect(
            misspelt.errors
                == "carillon: chek-config: no such command; did you mean check-config?\nSee 'carillon --help'.\n")
        #expect(try CommandProcess.run([]).status == 0)
        #expect(try CommandProcess.run(["topics", "create", "--help"]).output.contains("--dry-run"))
        #expect(try CommandProcess.run(["--version"]).output.hasPrefix("carillon \(Version.number) (librdkafka "))
    }
}
