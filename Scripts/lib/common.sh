# Sourced by the scripts: paths, required packages, and messages.
# shellcheck shell=bash
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python="$root/.build/python/bin/python"

# What the build needs, and what only the tests need.
build_packages=(librdkafka-dev libsimdjson-dev liblmdb-dev libsqlite3-dev libjemalloc-dev libssl-dev libmicrohttpd-dev
    libcurl4-openssl-dev libnghttp2-dev pkg-config)
swift_needed=6.2

say() { printf '%s\n' "== $*" >&2; }
die() { printf '%s\n' "error: $*" >&2; exit 1; }

# pause: a tenth of a second. Only inside a loop that waits for a condition with a deadline.
pause() { read -rt 0.1 <> <(:) || :; }

# wait_until SECONDS CONDITION...: 0 as soon as the condition holds, 1 at the deadline.
wait_until() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < deadline)) || return 1
        pause
    done
}

# prepare_seed COMMAND: exports TEST_SEED, the number from which the tests draw what is random, and says how to repeat the run.
prepare_seed() {
    TEST_SEED=$("$root/Scripts/seed") || exit
    export TEST_SEED
    say "seed $TEST_SEED: TEST_SEED=$TEST_SEED $*"
}

# Installs the missing ones of the given Debian packages, and names them first.
install_packages() {
    local missing=() package as_root=()
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        say "not a Debian system: these packages, or what your system calls them, must be there: $*"
        return 0
    fi
    for package in "$@"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    if ((EUID != 0)); then
        command -v sudo >/dev/null || die "missing Debian packages, and no sudo to install them: ${missing[*]}"
        as_root=(sudo)
    fi
    say "installing missing Debian packages: ${missing[*]}"
    if [[ -z ${apt_updated:-} ]]; then
        ${as_root[@]+"${as_root[@]}"} apt-get update -qq >&2
        apt_updated=1
    fi
    ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

# Checks that the Swift toolchain is new enough; if not, says how to get one.
require_swift() {
    local version
    if ! command -v swift >/dev/null; then
        cat >&2 <<'HOW'
error: there is no Swift toolchain on the PATH. To get one (Debian 12, for this user only):

    curl -O "https://download.swift.org/swiftly/linux/swiftly-$(uname -m).tar.gz"
    tar zxf "swiftly-$(uname -m).tar.gz" && ./swiftly init

then open a new shell and run this again. Other ways: https://www.swift.org/install/linux/
HOW
        exit 1
    fi
    version=$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+(\.[0-9]+)*).*/\1/p' | head -n 1)
    [[ -n $version ]] || die "\`swift --version\` names no version"
    [[ $(printf '%s\n' "$swift_needed" "$version" | sort -V | head -n 1) == "$swift_needed" ]] ||
        die "Swift $version is too old: $swift_needed or newer is needed (https://www.swift.org/install/linux/)"
}

# Installs the Python packages of the tests into a virtual environment below .build; recreated when the lists change.
prepare_python() {
    local home="$root/.build/python" list alone="$root/Tests/Oracles/requirements.txt"
    list="$root/Tests/EndToEnd/requirements.txt"
    cat "$list" "$alone" | cmp -s - "$home/requirements.txt" && [[ -x $python ]] && return 0
    python3 -c 'import ensurepip, venv' 2>/dev/null || install_packages python3 python3-venv
    say "installing from PyPI into .build/python: $(grep -hvE '^(#|$)' "$list" "$alone" | tr '\n' ' ')"
    rm -rf "$home"
    python3 -m venv "$home"
    "$python" -m pip install --quiet --disable-pip-version-check --only-binary :all: -r "$list" >&2
    "$python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-deps -r "$alone" >&2
    cat "$list" "$alone" >"$home/requirements.txt"
}

# prepare_carillon: sets $CARILLON to a release build, unless it is set already.
prepare_carillon() {
    [[ -z ${CARILLON:-} ]] || return 0
    swift build --package-path "$root" -c release --product carillon >&2 || return 1
    CARILLON=$(swift build --package-path "$root" -c release --show-bin-path)/carillon
    export CARILLON
}

# prepare_stand_in: sets $PROVIDER_STAND_IN, both providers as a program, unless it is set already.
prepare_stand_in() {
    [[ -z ${PROVIDER_STAND_IN:-} ]] || return 0
    swift build --package-path "$root" -c release --product provider-stand-in >&2 || return 1
    PROVIDER_STAND_IN=$(swift build --package-path "$root" -c release --show-bin-path)/provider-stand-in
    export PROVIDER_STAND_IN
}

# Installs what a broker needs; returns 1 if KAFKA_HOME is not set.
require_kafka() {
    [[ -n ${KAFKA_HOME:-} ]] || return 1
    command -v java >/dev/null || install_packages openjdk-17-jre-headless
    # It makes the certificates of --tls.
    command -v openssl >/dev/null || install_packages openssl
}

# Puts prometheus and promtool on the PATH. If there are none, it unpacks Debian's package below .build: installing it would
# start a service on this machine. Returns 1 if the package is not available.
prepare_prometheus() {
    local home="$root/.build/prometheus"
    PATH="$PATH:$home/usr/bin"
    if command -v prometheus >/dev/null && command -v promtool >/dev/null; then return 0; fi
    command -v apt-get >/dev/null || return 1
    say "unpacking Debian's prometheus into .build/prometheus"
    rm -rf "$home"
    mkdir -p "$home"
    (cd "$home" && apt-get -o APT::Sandbox::User="$(id -un)" download -qq prometheus >&2 && dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb)
}

# Installs what the benchmarks compare with into the virtual environment.
prepare_bench_packages() {
    local list="$root/Benchmarks/requirements.txt"
    "$python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-deps -r "$list" >&2
}

# Compiles the Kafka Streams application of the benchmarks against the jars of KAFKA_HOME; sets $STREAMS to the folder of its classes.
prepare_streams() {
    [[ -n ${KAFKA_HOME:-} ]] || die "KAFKA_HOME is not set: the benchmark of Kafka Streams needs its jars"
    command -v javac >/dev/null || install_packages openjdk-17-jdk-headless
    export STREAMS="$root/.build/bench/streams"
    mkdir -p "$STREAMS"
    javac -Xlint:all,-processing -Werror -d "$STREAMS" -cp "$KAFKA_HOME/libs/*" \
        "$root"/Benchmarks/streams/*.java
}

# Puts h2load on the PATH. If there is none, it unpacks Debian's package below .build.
prepare_h2load() {
    local home="$root/.build/h2load"
    ! command -v h2load >/dev/null || return 0
    if [[ ! -x $home/usr/bin/h2load ]]; then
        command -v apt-get >/dev/null || die "the benchmark needs h2load (nghttp2-client)"
        say "unpacking Debian's nghttp2-client into .build/h2load"
        rm -rf "$home"
        mkdir -p "$home"
        (cd "$home" && apt-get -o APT::Sandbox::User="$(id -un)" download -qq nghttp2-client libev4 >&2 &&
            for package in *.deb; do dpkg-deb -x "$package" .; done && rm ./*.deb)
    fi
    PATH="$PATH:$home/usr/bin"
    export LD_LIBRARY_PATH="$home/usr/lib/$(uname -m)-linux-gnu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}

# Provides a real broker for the tests: exports KAFKA_BOOTSTRAP_SERVERS; if it is not set, starts a broker from KAFKA_HOME, which
# stops when the script ends. Returns 1 if neither is set. Takes options of `Scripts/kafka start`.
require_broker() {
    [[ -z ${KAFKA_BOOTSTRAP_SERVERS:-} ]] || return 0
    require_kafka || return 1
    broker_folder=$(mktemp -d "${TMPDIR:-/tmp}/carillon-kafka.XXXXXX")
    trap stop_broker EXIT
    say "starting a broker from KAFKA_HOME"
    KAFKA_BOOTSTRAP_SERVERS=$("$root/Scripts/kafka" start "$broker_folder" "$@") || return 1
    export KAFKA_BOOTSTRAP_SERVERS
}

stop_broker() {
    [[ -n ${broker_folder:-} ]] || return 0
    "$root/Scripts/kafka" stop "$broker_folder" || :
    rm -rf "$broker_folder"
    broker_folder=
}
