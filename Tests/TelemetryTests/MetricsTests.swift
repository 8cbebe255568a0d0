import Testing

@testable import Telemetry

@Suite struct MetricsTests {
    @Test("the same name and labels give the same counter, in whatever order they were registered")
    func identity() {
        let metrics = Metrics()
        metrics.counter("events_total", help: "Events.", labels: ["kind": "a"]).add(2)
        metrics.counter("events_total", help: "Events.", labels: ["kind": "b"]).add(5)
        metrics.counter("events_total", help: "Events.", labels: ["kind": "a"]).add()
        #expect(metrics.snapshot().value("events_total", labels: ["kind": "a"]) == .counter(3))
        #expect(metrics.snapshot().value("events_total", labels: ["kind": "b"]) == .counter(5))
        #expect(metrics.snapshot().value("events_total") == nil)
    }

    @Test("what is observed under one name by several has the series of all; the same labels again replace theirs")
    func observedTogether() {
        let metrics = Metrics()
        for value in [1.0, 2] {
            metrics.observe("ready", help: "Ready.", labels: ["role": "a"]) { [.init(value: .gauge(value))] }
        }
        metrics.observe("ready", help: "Ready.", labels: ["role": "b"]) {
            [.init(labels: [.init("lane", "c")], value: .gauge(3))]
        }
        let snapshot = metrics.snapshot()
        #expect(snapshot.value("ready", labels: ["role": "a"]) == .gauge(2))
        #expect(snapshot.value("ready", labels: ["role": "b", "lane": "c"]) == .gauge(3))
        #expect(snapshot.families.map(\.series.count) == [2])
    }

    @Test("a counter never goes back")
    func monotonic() {
        let counter = Counter()
        counter.add(3)
        counter.add(-5)
        counter.add(0)
        #expect(counter.value == 3)
    }

    @Test("several threads add without losing anything")
    func concurrent() async {
        let counter = Counter()
        let gauge = Gauge()
        let histogram = Histogram(bounds: [1, 2])
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<5_000 {
                        counter.add()
                        gauge.add(1)
                        histogram.record(1.5)
                    }
                }
            }
        }
        #expect(counter.value == 20_000)
        #expect(gauge.value == 20_000)
        #expect(histogram.value == .init(bounds: [1, 2], counts: [0, 20_000, 0], sum: 30_000))
    }

    @Test("a bound is inclusive, and what is not finite is not recorded")
    func histogram() {
        let histogram = Histogram(bounds: [0.01, 0.1])
        for value in [0.01, 0.010001, 0.1, 7, .nan, .infinity] { histogram.record(value) }
        #expect(histogram.value.counts == [1, 2, 1])
        histogram.record(.milliseconds(5))
        #expect(histogram.value.counts == [2, 2, 1])
    }

    @Test("Prometheus text has help, type, escaped labels, cumulative buckets, and an order that never changes")
    func prometheus() {
        let metrics = Metrics()
        metrics.gauge("b_seconds", help: "Back\\slash\nand line.").set(1.5)
        metrics.counter("a_total", help: "A \"quoted\" help.", labels: ["x": "q\"b\\n\nü", "y": "1"]).add(7)
        let histogram = metrics.histogram("c_seconds", help: "C.", labels: ["w": "0"], bounds: [0.5, 1])
        histogram.record(0.25)
        histogram.record(0.75)
        histogram.record(2)
        #expect(
            metrics.snapshot().prometheusText() == #"""
                # HELP a_total A "quoted" help.
                # TYPE a_total counter
                a_total{x="q\"b\\n\nü",y="1"} 7
                # HELP b_seconds Back\\slash\nand line.
                # TYPE b_seconds gauge
                b_seconds 1.5
                # HELP c_seconds C.
                # TYPE c_seconds histogram
                c_seconds_bucket{w="0",le="0.5"} 1
                c_seconds_bucket{w="0",le="1"} 2
                c_seconds_bucket{w="0",le="+Inf"} 3
                c_seconds_sum{w="0"} 3
                c_seconds_count{w="0"} 3

                """#)
    }

    @Test("observed series are read at each snapshot, in order of name with the rest; one that is gone leaves no line")
    func observed() {
        let metrics = Metrics()
        let files = Gauge()
        metrics.counter("a_total", help: "A.").add()
        metrics.counter("c_total", help: "C.").add()
        metrics.observe("b", help: "B.") {
            files.value == 0 ? [] : [.init(labels: [.init("kind", "x")], value: .gauge(files.value))]
        }
        #expect(metrics.snapshot().families.map(\.name) == ["a_total", "b", "c_total"])
        #expect(!metrics.snapshot().prometheusText().contains("b"))
        files.set(3)
        #expect(metrics.snapshot().value("b", labels: ["kind": "x"]) == .gauge(3))
        metrics.observe("b", help: "B.") { [.init(value: .counter(0.25))] }
        #expect(metrics.snapshot().prometheusText().contains("# TYPE b counter\nb 0.25\n"))
    }

    @Test("a value that is recorded several times at once counts as often")
    func times() {
        let histogram = Histogram(bounds: [1])
        histogram.record(0.5, times: 3)
        histogram.record(.seconds(2), times: 2)
        histogram.record(0.5, times: 0)
        #expect(histogram.value == .init(bounds: [1], counts: [3, 2], sum: 5.5))
    }

    @Test("a name that belongs to another kind of metric keeps its kind")
    func kinds() {
        let metrics = Metrics()
        metrics.counter("x_total", help: "X.").add()
        metrics.gauge("x_total", help: "X.").set(5)
        metrics.gauge("x_total", help: "X.", labels: ["a": "b"]).set(5)
        #expect(metrics.snapshot().families.count == 1)
        #expect(metrics.snapshot().value("x_total") == .counter(1))
        #expect(metrics.snapshot().families[0].series.count == 1)
    }
}
