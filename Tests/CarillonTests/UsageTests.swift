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

    @Test("help has the commands in groups and the address of the pages; deliver's has the flags of its daemon")
    func help() throws {
        let root = try CommandProcess.run(["--help"]).output
        let titles = root.split(separator: "\n").filter { !$0.hasPrefix(" ") && $0.hasSuffix(":") }
        #expect(titles == ["Run:", "Send:", "Look:", "Mend:", "Set up:", "Options:", "Examples:"])
        #expect(root.hasSuffix("\nMore: \(Version.pages)\n"))
        let deliver = try CommandProcess.run(["deliver", "--help"]).output
        for flag in ["--from <position>", "--check", "--provider <fcm|apns>", "run (default)", "reap"] {
            #expect(deliver.contains(flag), "\(flag)")
        }
        #expect(try CommandProcess.run(["run", "--help"]).output.contains("docs/settings.md"))
    }

    @Test("who a process is, and where its tables are, is asked of the commands that use it, and of no other")
    func processOptions() throws {
        for command in [["run"], ["broadcasts"], ["table", "check"], ["check-config"]] {
            let help = try CommandProcess.run(command + ["--help"]).output
            #expect(help.contains("--instance") && help.contains("--state-dir"), "\(command)")
        }
        let sender = try CommandProcess.run(["deliver", "run", "--help"]).output
        #expect(sender.contains("--instance") && !sender.contains("--state-dir"))
        for command in [
            ["subscribe"], ["topics", "create"], ["explain"], ["offsets", "set"], ["ready"], ["replay", "diff"],
        ] {
            let help = try CommandProcess.run(command + ["--help"]).output
            #expect(
                help.contains("--config") && !help.contains("--instance") && !help.contains("--state-dir"), "\(command)"
            )
        }
        let checked = try CommandProcess.run(
            ["check-config", "-b", "broker:9092", "--instance", "b", "--state-dir", "/tmp/x"],
            environment: ["HOME": "/home/test"])
        #expect(checked.output.contains("--instance") && checked.output.contains("--state-dir"))
    }

    @Test("--small and --partitions exclude each other")
    func small() throws {
        let both = try CommandProcess.run(["topics", "create", "--small", "--partitions", "3", "-b", "127.0.0.1:1"])
        #expect(both.status == 64)
        #expect(both.errors.contains("--small and --partitions: only one of the two"))
    }

    @Test(
        "a problem of shared options is said once", arguments: [["render"], ["schedule"], ["replay", "dead-letters"]])
    func once(command: [String]) throws {
        let errors = try CommandProcess.run(command + ["--set", "x"]).errors
        #expect(
            errors.split(separator: "\n").count { $0.hasSuffix(" --set x: it must be key=value") } == 1, "\(errors)")
    }
}
