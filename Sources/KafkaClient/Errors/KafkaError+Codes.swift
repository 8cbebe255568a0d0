import CRDKafka

extension KafkaError.Kind {
    init(_ code: rd_kafka_resp_err_t) {
        switch code {
        case RD_KAFKA_RESP_ERR__AUTHENTICATION, RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED,
            RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM, RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE:
            self = .authentication
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED,
            RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            RD_KAFKA_RESP_ERR_SECURITY_DISABLED:
            self = .authorization
        case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
            RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
            self = .unknownTopicOrPartition
        case RD_KAFKA_RESP_ERR__FENCED, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
            self = .fenced
        case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID: self = .fencedInstanceID
        case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE: self = .messageTooLarge
        case RD_KAFKA_RESP_ERR_INVALID_RECORD, RD_KAFKA_RESP_ERR_INVALID_MSG, RD_KAFKA_RESP_ERR__BAD_MSG,
            RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
            self = .invalidRecord
        case RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE: self = .outOfSequence
        case RD_KAFKA_RESP_ERR__QUEUE_FULL: self = .queueFull
        case RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE,
            RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
            self = .timedOut
        case RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__RESOLVE, RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
            self = .transport
        case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN: self = .allBrokersDown
        case RD_KAFKA_RESP_ERR__SSL: self = .tls
        case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE: self = .offsetOutOfRange
        case RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE: self = .offsetMetadataTooLarge
        case RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED: self = .maxPollExceeded
        case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION: self = .unknownMember
        case RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS: self = .rebalanceInProgress
        case RD_KAFKA_RESP_ERR__PURGE_QUEUE, RD_KAFKA_RESP_ERR__PURGE_INFLIGHT: self = .purged
        case RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS: self = .topicAlreadyExists
        case RD_KAFKA_RESP_ERR__INVALID_ARG, RD_KAFKA_RESP_ERR__NOT_CONFIGURED, RD_KAFKA_RESP_ERR_INVALID_CONFIG,
            RD_KAFKA_RESP_ERR_INVALID_PARTITIONS, RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR,
            RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, RD_KAFKA_RESP_ERR_POLICY_VIOLATION,
            RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT, RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT,
            RD_KAFKA_RESP_ERR__UNKNOWN_GROUP:
            self = .configuration
        case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE, RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION: self = .unsupported
        case RD_KAFKA_RESP_ERR__STATE, RD_KAFKA_RESP_ERR_INVALID_TXN_STATE: self = .state
        default: self = .other
        }
    }
}

extension KafkaError.Recovery {
    /// For codes that librdkafka does not classify as fatal, abortable or retriable: consumer errors, administration,
    /// delivery reports.
    init(_ code: rd_kafka_resp_err_t) {
        switch KafkaError.Kind(code) {
        case .timedOut, .transport, .allBrokersDown, .queueFull, .rebalanceInProgress, .unknownTopicOrPartition,
            .unknownMember, .maxPollExceeded:
            self = .retry
        case .fenced: self = .recreateClient
        case .messageTooLarge, .invalidRecord, .outOfSequence, .purged, .offsetMetadataTooLarge:
            self = .abortTransaction
        case .authentication, .authorization, .tls, .fencedInstanceID, .offsetOutOfRange, .topicAlreadyExists,
            .configuration, .unsupported:
            self = .giveUp
        case .state: self = .recreateClient
        case .other: self = Self.retriable.contains(code) ? .retry : .recreateClient
        }
    }

    private static let retriable: Set<rd_kafka_resp_err_t> = [
        RD_KAFKA_RESP_ERR__WAIT_COORD, RD_KAFKA_RESP_ERR__WAIT_CACHE, RD_KAFKA_RESP_ERR__IN_PROGRESS,
        RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS, RD_KAFKA_RESP_ERR__OUTDATED, RD_KAFKA_RESP_ERR__RETRY,
        RD_KAFKA_RESP_ERR__INTR,
        RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
        RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE,
        RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
        RD_KAFKA_RESP_ERR_NOT_COORDINATOR, RD_KAFKA_RESP_ERR_NOT_CONTROLLER, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
        RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND, RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS,
        RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT, RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR,
        RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH, RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH,
        RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_PREFERRED_LEADER_NOT_AVAILABLE,
        RD_KAFKA_RESP_ERR_UNKNOWN, RD_KAFKA_RESP_ERR_MEMBER_ID_REQUIRED, RD_KAFKA_RESP_ERR_STALE_BROKER_EPOCH,
    ]
}
