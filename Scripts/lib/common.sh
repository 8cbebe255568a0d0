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
    mkdir -p "$root/.build"
    (
        # Steps of Scripts/test run beside each other.
        flock 9
        ${as_root[@]+"${as_root[@]}"} apt-get update -qq
        ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends "${missing[@]}"
    ) 9>"$root/.build/apt" >&2
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

# Sets $API_CLIENTS to a virtual environment with what the HTTP API is met with; recreated when the list changes.
prepare_api_clients() {
    local list="$root/Tests/EndToEnd/clients/requirements.txt"
    export API_CLIENTS="$root/.build/api-clients"
    ! cmp -s "$list" "$API_CLIENTS/requirements.txt" || return 0
    say "installing from PyPI into .build/api-clients: $(grep -cvE '^(#|$)' "$list") packages"
    rm -rf "$API_CLIENTS"
    python3 -m venv "$API_CLIENTS"
    "$API_CLIENTS/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-deps --no-compile -r "$list" >&2
    cp "$list" "$API_CLIENTS/requirements.txt"
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

# prepare_receiving_app: sets $RECEIVING_APP, the phone of Examples, unless it is set already.
prepare_receiving_app() {
    local build=(swift build --package-path "$root/Examples/receiving-app" --scratch-path "$root/.build/receiving-app")
    [[ -z ${RECEIVING_APP:-} ]] || return 0
    "${build[@]}" --product receiving-app >&2 || return 1
    RECEIVING_APP=$("${build[@]}" --show-bin-path)/receiving-app
    export RECEIVING_APP
}

# Installs what a broker needs; returns 1 if KAFKA_HOME is not set.
require_kafka() {
    [[ -n ${KAFKA_HOME:-} ]] || return 1
    command -v java >/dev/null || install_packages openjdk-17-jre-headless
    # It makes the certificates of --tls.
    command -v openssl >/dev/null || install_packages openssl
}

# prepare_debian PROGRAM PACKAGE...: puts a program on the PATH. If there is none, it unpacks Debian's packages below .build:
# installing them could start a service on this machine. Returns 1 if they are not available.
prepare_debian() {
    local home="$root/.build/$1" libraries
    libraries="$home/usr/lib/$(uname -m)-linux-gnu"
    PATH="$PATH:$home/usr/bin:$home/usr/sbin"
    if ! command -v "$1" >/dev/null; then
        command -v apt-get >/dev/null || return 1
        say "unpacking into .build/$1, from Debian: ${*:2}"
        rm -rf "$home"
        mkdir -p "$home"
        (cd "$home" && apt-get -o APT::Sandbox::User="$(id -un)" download -qq "${@:2}" >&2 &&
            for package in *.deb; do dpkg-deb -x "$package" .; done && rm ./*.deb) || return 1
    fi
    [[ ! -d $libraries ]] || export LD_LIBRARY_PATH="$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}

# promtool is in the same package.
prepare_prometheus() { prepare_debian prometheus prometheus; }

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

prepare_h2load() { prepare_debian h2load nghttp2-client libev4 || die "the benchmark needs h2load (nghttp2-client)"; }

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
