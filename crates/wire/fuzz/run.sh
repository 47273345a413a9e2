#!/usr/bin/env bash
# Fuzz the frame formats, guided by coverage: run.sh [--runs N] [--corpus] [FORMAT...]
#   --runs N   executions of each format, 1 000 000 unless told
#   --corpus   afterwards write the smallest set of inputs with the same coverage into corpus.txt
# It needs a C++ compiler for libFuzzer and any Rust toolchain: the coverage flags are those of stable rustc.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
runs=1000000 keep=no formats=()
while [ $# -gt 0 ]; do
  case $1 in
    -h|--help) sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"
       echo "Formats: $(cd "$here/targets" && echo *.rs | sed 's/\.rs//g'); all of them if none is named."
       exit 0 ;;
    --runs) runs=${2:?--runs takes a number}; shift 2 ;;
    --corpus) keep=yes; shift ;;
    -*) echo "run.sh: unknown option $1; there are --runs N, --corpus and --help" >&2; exit 2 ;;
    *) [ -f "$here/targets/$1.rs" ] || { echo "run.sh: no format $1; there are: $(cd "$here/targets" && echo *.rs | sed 's/\.rs//g')" >&2; exit 2; }
       formats+=("$1"); shift ;;
  esac
done
[ ${#formats[@]} -gt 0 ] || for file in "$here"/targets/*.rs; do formats+=("$(basename "$file" .rs)"); done

export CARGO_TARGET_DIR="$here/../../../target/fuzz"
host=$(rustc -vV | sed -n 's/^host: //p')
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 --cfg fuzzing"
(cd "$here" && RUSTFLAGS=$coverage cargo build --release --quiet --locked --bins --target "$host")

# Writes the kept inputs of a format as files into a folder.
unpack() {
  rm -rf "$2"; mkdir -p "$2"
  local number=0 name octets
  while read -r name octets; do
    [ "$name" = "$1" ] || continue
    [ "$octets" != - ] || octets=
    number=$((number + 1))
    printf '%b' "$(printf '%s' "$octets" | sed 's/../\\x&/g')" >"$2/$number"
  done <"$here/corpus.txt"
}

# Puts the files of a folder in the place of a format's inputs.
pack() {
  { grep '^#' "$here/corpus.txt"
    { grep -v "^#\|^$1 " "$here/corpus.txt" || true
      for file in "$2"/*; do
        octets=$(od -An -v -tx1 "$file" | tr -d ' \n')
        printf '%s %s\n' "$1" "${octets:--}"
      done
    } | awk '{ print $1, length($2), $2 }' | LC_ALL=C sort -k1,1 -k2,2n -k3,3 | cut -d' ' -f1,3
  } >"$CARGO_TARGET_DIR/corpus.txt"
  mv "$CARGO_TARGET_DIR/corpus.txt" "$here/corpus.txt"
}

printf '%-16s %14s %10s %8s %10s\n' format executions coverage inputs seconds
total=0
for format in "${formats[@]}"; do
  grown=$CARGO_TARGET_DIR/corpus/$format; mkdir -p "$grown"
  kept=$CARGO_TARGET_DIR/kept/$format; unpack "$format" "$kept"
  log=$CARGO_TARGET_DIR/$format.log
  started=$SECONDS
  if ! (cd "$CARGO_TARGET_DIR" && "$host/release/$format" "$grown" "$kept" -runs="$runs" -max_len=512 \
      -print_final_stats=1 -artifact_prefix="$CARGO_TARGET_DIR/crash-$format-") >"$log" 2>&1; then
    tail -40 "$log" >&2
    echo "run.sh: $format failed; the input is $CARGO_TARGET_DIR/crash-$format-..., all of its output in $log" >&2
    exit 1
  fi
  executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  edges=$(sed -n 's/.* cov: \([0-9]*\).*/\1/p' "$log" | tail -1)
  printf '%-16s %14s %10s %8s %10s\n' "$format" "$executed" "$edges" "$(find "$grown" -type f | wc -l)" $((SECONDS - started))
  total=$((total + executed))
  if [ $keep = yes ]; then
    small=$CARGO_TARGET_DIR/smallest; rm -rf "$small"; mkdir -p "$small"
    "$CARGO_TARGET_DIR/$host/release/$format" -set_cover_merge=1 -max_len=512 "$small" "$grown" "$kept" >"$log" 2>&1
    pack "$format" "$small"
  fi
done
printf '%-16s %14s\n' together "$total"
