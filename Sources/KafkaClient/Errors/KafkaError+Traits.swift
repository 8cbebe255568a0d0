extension KafkaError.Kind {
    /// What all errors of a kind have in common.
    package struct Traits {
        /// What the caller can do where librdkafka does not say it.
        var recovery: KafkaError.Recovery
        package var remedy: Remedy
        /// Nil for an error that says nothing of the connection.
        package var connection: ConnectionFailure?
        /// Whether it rejects the record permanently: sending the same record again never succeeds.
        package var isOfRecord: Bool
        /// What an operator can do, where the error's own sentence does not say it.
        var advice: String?

        init(
            _ recovery: KafkaError.Recovery, _ remedy: Remedy, connection: ConnectionFailure? = nil,
            isOfRecord: Bool = false, advice: String? = nil
        ) {
            self.recovery = recovery
            self.remedy = remedy
            self.connection = connection
            self.isOfRecord = isOfRecord
            self.advice = advice
        }
    }

    /// Whatever ends the error.
    package enum Remedy {
        /// A login, a certificate or an ACL.
        case permission
        /// A topic that is missing.
        case topic
        /// Another setting, or a version that can do what it asks for.
        case settings
        /// A decision about records, offsets or a topic that Kafka refuses.
        case decision
        /// The end of another process, or another id for this one.
        case otherProcess
        /// Waiting.
        case time
        /// A correction of the program.
        case program
    }

    /// What keeps a client from a broker; what comes later says more.
    package enum ConnectionFailure: Int {
        /// No broker at all is there, whatever the reason.
        case noBroker
        /// The connection: it was not made, or was closed.
        case broken
        /// The login or the certificate.
        case refused
    }

    package var traits: Traits {
        switch self {
        case .authentication:
            Traits(
                .giveUp, .permission, connection: .refused,
                advice: "Check security.protocol, sasl.mechanism, sasl.username and sasl.password")
        case .authorization:
            Traits(.giveUp, .permission, advice: "Ask the cluster's operator for an ACL that allows it")
        case .unknownTopicOrPartition:
            Traits(.retry, .topic, advice: "Check the topic's name, and create it if it is missing")
        case .fenced:
            Traits(
                .recreateClient, .otherProcess,
                advice:
                    "Another producer has the same transactional.id, or this producer's transaction was open for longer than transaction.timeout.ms"
            )
        case .fencedInstanceID:
            Traits(.giveUp, .otherProcess, advice: "Another process runs with the same group.instance.id")
        case .messageTooLarge:
            Traits(
                .abortTransaction, .decision, isOfRecord: true,
                advice: "Compare message.max.bytes here with max.message.bytes of the topic")
        case .invalidRecord: Traits(.abortTransaction, .decision, isOfRecord: true)
        case .outOfSequence, .purged: Traits(.abortTransaction, .program)
        case .queueFull, .timedOut, .rebalanceInProgress: Traits(.retry, .time)
        case .transport: Traits(.retry, .time, connection: .broken)
        case .allBrokersDown:
            Traits(
                .retry, .time, connection: .noBroker,
                advice: "Check bootstrap.servers and that a broker listens there")
        case .tls:
            Traits(
                .giveUp, .permission, connection: .refused,
                advice:
                    "Check security.protocol and ssl.ca.location, and that the broker's certificate is in date and names its host"
            )
        case .offsetOutOfRange: Traits(.giveUp, .decision, advice: "The log no longer holds the offset to read from")
        case .offsetMetadataTooLarge:
            Traits(.abortTransaction, .decision, advice: "The broker's limit is offset.metadata.max.bytes")
        case .maxPollExceeded:
            Traits(.retry, .program, advice: "The owner did not poll for longer than max.poll.interval.ms")
        case .unknownMember: Traits(.retry, .decision)
        case .topicAlreadyExists: Traits(.giveUp, .decision)
        case .configuration, .unsupported: Traits(.giveUp, .settings)
        case .state, .other: Traits(.recreateClient, .program)
        }
    }
}

extension KafkaError {
    /// Whether this client of the caller can no longer be used.
    package func ends(_ client: Client) -> Bool {
        guard self.client == client else { return false }
        switch recovery {
        case .recreateClient: return true
        case .retry, .abortTransaction, .giveUp: return isFatal
        }
    }

    /// Whether the cluster or the settings have to change first: waiting does not help.
    package var needsAPerson: Bool {
        switch kind.traits.remedy {
        case .permission, .topic, .settings: true
        case .decision, .otherProcess, .time, .program: false
        }
    }
}
