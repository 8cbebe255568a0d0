extension KafkaError.Kind {
    /// What keeps a client from a broker.
    package enum ConnectionFailure {
        /// The login or the certificate.
        case refused
        /// The connection: it was not made, or was closed.
        case broken
        /// No broker at all is there, whatever the reason.
        case noBroker
    }

    /// Nil for an error that says nothing of the connection.
    package var connectionFailure: ConnectionFailure? {
        switch self {
        case .authentication, .tls: .refused
        case .transport: .broken
        case .allBrokersDown: .noBroker
        case .authorization, .unknownTopicOrPartition, .fenced, .fencedInstanceID, .messageTooLarge, .invalidRecord,
            .outOfSequence, .queueFull, .timedOut, .offsetOutOfRange, .offsetMetadataTooLarge, .maxPollExceeded,
            .unknownMember, .rebalanceInProgress, .purged, .topicAlreadyExists, .configuration, .unsupported, .state,
            .other:
            nil
        }
    }

    /// What a person has to mend, where waiting does not.
    package enum Remedy {
        /// A login, a certificate or an ACL.
        case permission
        /// A topic is missing.
        case topic
        /// A setting, or a version that cannot do what it asks for.
        case settings
    }

    /// Nil where no person is needed.
    package var remedy: Remedy? {
        switch self {
        case .authentication, .authorization, .tls: .permission
        case .unknownTopicOrPartition: .topic
        case .configuration, .unsupported: .settings
        case .fenced, .fencedInstanceID, .messageTooLarge, .invalidRecord, .outOfSequence, .queueFull, .timedOut,
            .transport, .allBrokersDown, .offsetOutOfRange, .offsetMetadataTooLarge, .maxPollExceeded, .unknownMember,
            .rebalanceInProgress, .purged, .topicAlreadyExists, .state, .other:
            nil
        }
    }

    /// Whether it rejects the record permanently: sending the same record again never succeeds.
    package var isOfRecord: Bool {
        switch self {
        case .messageTooLarge, .invalidRecord: true
        case .authentication, .authorization, .unknownTopicOrPartition, .fenced, .fencedInstanceID, .outOfSequence,
            .queueFull, .timedOut, .transport, .allBrokersDown, .tls, .offsetOutOfRange, .offsetMetadataTooLarge,
            .maxPollExceeded, .unknownMember, .rebalanceInProgress, .purged, .topicAlreadyExists, .configuration,
            .unsupported, .state, .other:
            false
        }
    }
}
