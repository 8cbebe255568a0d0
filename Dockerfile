# The program in a slim image: `docker build -t carillon .`, then `docker run --rm carillon --help`.
# The build stage has the toolchain; the runtime stage has Debian's libraries, the program with Swift's linked in, and one user.
FROM swift:6.3-bookworm AS build
WORKDIR /carillon
COPY Scripts Scripts
RUN Scripts/setup
COPY . .
RUN swift build -c release --product carillon --static-swift-stdlib \
    && install -s "$(swift build -c release --product carillon --static-swift-stdlib --show-bin-path)/carillon" /usr/local/bin/carillon

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        ca-certificates librdkafka1 libsimdjson14 liblmdb0 libsqlite3-0 libjemalloc2 libmicrohttpd12 libssl3 \
        libcurl4 libnghttp2-14 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --user-group --no-create-home --home-dir /var/lib/carillon carillon \
    && install -d -m 0700 -o carillon -g carillon /var/lib/carillon
COPY --from=build /usr/local/bin/carillon /usr/local/bin/carillon
WORKDIR /var/lib/carillon
USER 10001:10001
# The table of subscriptions; if it is lost, it is filled again from its topic.
VOLUME /var/lib/carillon
# /metrics, /live and /ready of run, deliver and broadcasts.
ENV CARILLON_HTTP=0.0.0.0:9464
EXPOSE 9464
# Healthy is ready: a process that waits, such as for a broker, is not, and comes back by itself. So nothing should restart a
# container for it. A first start may have a large table of subscriptions to fill.
HEALTHCHECK --interval=5s --timeout=5s --start-period=5m --retries=3 CMD ["carillon", "ready", "--timeout", "0s"]
ENTRYPOINT ["carillon"]
CMD ["--help"]
