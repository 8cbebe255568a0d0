import Foundation
import Pipeline
import Telemetry
import TestSupport
import Testing

@testable import Console
@testable import KafkaClient

@Suite struct ConsoleTests {
    private let metrics = Metrics()

    private func pages() throws -> Pages {
        let audiences = try AudienceTemplates(AudienceTemplate.list("user/{customer_id}"))
        let configuration = PipelineConfiguration(
            kafka: ["bootstrap.servers": "127.0.0.1:1"], stateDirectory: "/nonexistent",
            rules: try ExtractionRules(audiences: audiences))
        let pipeline = NotificationPipeline(configuration: configuration, metrics: metrics)
        let process = ProcessHost([pipeline], logger: Logger(label: "test", level: .critical), metrics: metrics)
        return Pages(
            metrics: metrics, build: ["version": "1.2.3", "librdkafka": "2.0.2"], stuck: { process.stuck },
            unready: { process.unready })
    }

    @Test("/live is 200 unless replacing a consumer that receives nothing did not help, and then names it")
    func live() throws {
        let page = try #require(try pages()["/live"])
        #expect(page.status == .ok)
        let dead = Pages.livePage(["worker 1"])
        #expect(dead.status == .serviceUnavailable)
        #expect(dead.body.hasPrefix("not live\n- worker 1: nothing arrives"))
    }

    @Test("/ready is 503 with the reasons in the body while the pipeline does not work")
    func ready() throws {
        let page = try #require(try pages()["/ready"])
        #expect(page.status == .serviceUnavailable)
        #expect(page.body == "not ready\n- the pipeline is not running\n")
        #expect(Pages.readyPage([]).status == .ok)
    }

    @Test("/metrics is Prometheus text with the pipeline, the process and the build in it")
    func metricsPage() throws {
        let page = try #require(try pages()["/metrics"])
        #expect(page.status == .ok)
        #expect(page.contentType == "text/plain; version=0.0.4; charset=utf-8")
        let lines = Set(page.body.split(separator: "\n").map(String.init))
        #expect(lines.contains(#"carillon_events_total{topic="events"} 0"#))
        #expect(lines.contains(#"carillon_ready{role="pipeline"} 0"#))
        #expect(lines.contains(#"carillon_build_info{version="1.2.3",librdkafka="2.0.2"} 1"#))
        #expect(lines.contains("# TYPE process_cpu_seconds_total counter"))
    }

    @Test("docs/metrics.md has every metric, and no other")
    func metricsTable() throws {
        _ = try pages()
        // It appears with the first batch.
        metrics.countUnreadable([
            UnreadableBatch(partition: TopicPartition(topic: "t", partition: 0), offsets: 0...0, reason: "")
        ])
        let cells = try Page("docs/metrics.md").rows(below: "| Metric | Labels | Meaning |")
            .compactMap { $0.split(separator: "|").first }
        let names = cells.flatMap { $0.split(separator: "`") }
            .map(String.init).filter { $0.hasPrefix("carillon_") || $0.hasPrefix("process_") }
        #expect(names.sorted() == metrics.snapshot().families.map(\.name))
    }

    @Test("there is no other page")
    func otherPages() throws {
        let pages = try pages()
        for path in ["/", "/metrics/", "/Ready", "/../etc/passwd", ""] { #expect(pages[path] == nil) }
    }

    @Test("the process reports its real memory, CPU time, start and open files")
    func process() throws {
        #expect((4e6...4e10).contains(ProcessMetrics.residentMemory()))
        let before = ProcessMetrics.cpuSeconds()
        var sum = 0.0
        while ProcessMetrics.cpuSeconds() < before + 0.01 { sum += 1 }
        #expect(before > 0 && sum > 0)
        #expect(
            (Date.now.timeIntervalSince1970 - 86_400...Date.now.timeIntervalSince1970 + 2).contains(
                ProcessMetrics.startTime()))
        // Other tests open files meanwhile, too, but far fewer.
        let files = ProcessMetrics.openFiles()
        let opened = try (0..<200).map { _ in try #require(FileHandle(forReadingAtPath: "/dev/null")) }
        #expect(ProcessMetrics.openFiles() > files + 100)
        for file in opened { try file.close() }
    }
}
