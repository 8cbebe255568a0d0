import API
import Broadcasts
import Pipeline
import Registrar
import Sender

/// The daemons in this process: the pipeline, the broadcasts, the sender, the registrar, and the API.
struct DemoServices {
    let pipeline: NotificationPipeline
    let sender: SenderService
    let api: APIService
    private let process: ProcessHost
    private let running: Task<Void, any Error>
    private let stop: StopFlag

    /// Starts them; ``untilReady()`` waits until each has joined its group.
    ///
    /// - Parameter stop: ends every wait of the story.
    init(_ demo: Demo, _ stop: StopFlag) throws {
        self.stop = stop
        let pipeline = NotificationPipeline(configuration: demo.configuration, logger: demo.logger)
        let broadcasts = BroadcastService(configuration: demo.configuration, logger: demo.logger)
        let sender = SenderService(
            configuration: demo.configuration, start: .position(.earliest), logger: demo.logger)
        let registrar = RegistrarService(configuration: demo.configuration, logger: demo.logger)
        let api = APIService(
            configuration: demo.configuration, version: Version.number, logger: demo.logger, metrics: Metrics(),
            clock: PipelineClock(),
            broadcasts: BroadcastFollower(demo.configuration, logger: demo.logger, metrics: Metrics()),
            control: ControlFollower(demo.configuration, logger: demo.logger, metrics: Metrics()))
        let process = ProcessHost(
            [pipeline, broadcasts, sender, registrar, api], logger: demo.logger, metrics: Metrics())
        (self.pipeline, self.sender, self.api, self.process) = (pipeline, sender, api, process)
        running = Task { try await process.run() }
    }

    /// Whether a signal has asked for the end.
    var mustEnd: Bool { stop.isSet }

    func untilReady() async throws {
        try await wait("the daemons to join their groups") {
            process.unready.isEmpty
        }
    }

    /// - Throws: exit code 75 after a minute, or at a signal; what ended a daemon.
    func wait(_ what: String, until condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !condition() {
            if stop.isSet {
                try await end()
                throw CommandFailure(.notInTime, "demo: stopped before its end")
            }
            guard .now < deadline else {
                running.cancel()
                _ = try? await running.value
                throw CommandFailure(.notInTime, "demo: waited for \(what) for 60 s")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Drains and commits.
    func end() async throws {
        process.shutdown()
        try await running.value
    }
}
