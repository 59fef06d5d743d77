# Functions that the `run` scripts of all fuzz folders share; source this file after `set -eu`.

# Ends the script if libFuzzer cannot be built.
needs_compiler() {
    command -v "${CXX:-c++}" >/dev/null 2>&1 && return
    echo "skipped the fuzz targets: no C++ compiler (${CXX:-c++}) to build libFuzzer with" >&2
    # REQUIRE_CC covers the C++ compiler, too.
    [ "${REQUIRE_CC:-0}" != 1 ]
    exit
}

host=$(rustc -vV | sed -n 's/^host: //p')

# Builds the targets with the flags of cargo-fuzz, without a sanitizer: a reader in safe Rust can only panic or hang.
# Because of --target, these flags do not apply to build scripts.
build_targets() {
    RUSTFLAGS="--cfg fuzzing -Cdebug-assertions -Coverflow-checks -Cpasses=sancov-module \
-Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares" \
        cargo build --release --target "$host" --target-dir target
}

# fuzz TARGET ARCHIVE LONGEST SEEDS: runs a target for $seconds from the corpus in an archive and the files of a folder,
# with inputs of at most LONGEST bytes; with $keep, the inputs that reached new code go into the archive.
fuzz() {
    corpus=$(mktemp -d)
    trap 'rm -rf "$corpus"' EXIT
    mkdir -p "$corpus/new" "$corpus/least" target/found
    tar -xzf "$2" -C "$corpus/new"
    "target/$host/release/$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len="$3" -print_final_stats=1 \
        -artifact_prefix="target/found/$1-" "$corpus/new" "$4" 2>"$corpus/said" || {
        grep -v -e '^#' -e ': warning: ' "$corpus/said" >&2
        echo "$1: the input that failed is in $(pwd)/target/found" >&2
        exit 1
    }
    echo "$1: $(grep -E '^(Done|stat::number_of)|INITED' "$corpus/said" | tr '\n' ' ')"
    if [ -n "$keep" ]; then
        "target/$host/release/$1" -set_cover_merge=1 -max_len="$3" "$corpus/least" "$corpus/new" "$4" 2>/dev/null
        tar --sort=name --owner=0 --group=0 --mtime=@0 -czf "$2" -C "$corpus/least" .
    fi
    rm -rf "$corpus"
}
