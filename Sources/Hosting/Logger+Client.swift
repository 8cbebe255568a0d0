import KafkaClient
import Telemetry

extension Logger {
    /// Passes librdkafka's lines on, one level lower where librdkafka repairs by itself what it complains about. A batch
    /// that cannot be read is an error: nobody repairs it.
    package var clientSink: ClientLog.Sink {
        { [self] line in
            let level: Logger.Level =
                switch line.level {
                case _ where line.facility == UnreadableBatch.facility: .error
                case .critical, .error, .warning: .info
                case .notice, .info, .debug: .debug
                }
            log(level, line.message, ["facility": line.facility, "client": line.client])
        }
    }
}
