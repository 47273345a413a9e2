#!/usr/bin/env bash
# Builds the page that `qcnlab lab` opens: the module, then the page around it. Needs the target
# wasm32-unknown-unknown (rustup target add wasm32-unknown-unknown) and Node.js 20 or newer.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or newer" >&2; exit 1; }
cargo="${CARGO_HOME:-$HOME/.cargo}"
# No path of the machine that builds it ends up in the module.
RUSTFLAGS="--remap-path-prefix=$cargo=/cargo --remap-path-prefix=$PWD=/qcnlab" \
  cargo build --profile web --quiet -p qcnlab-wasm --target wasm32-unknown-unknown
cd web
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent --no-fund --no-audit
export QCNLAB_WASM="$PWD/../target/wasm32-unknown-unknown/web/qcnlab_wasm.wasm"
QCNLAB_SOURCES=$(python3 sources.py)
export QCNLAB_SOURCES
npx --no-install vite build --logLevel warn --emptyOutDir
install -m 644 dist/index.html ../python/qcnlab/lab.html
echo "python/qcnlab/lab.html: $(stat -c %s ../python/qcnlab/lab.html) octets, sources $QCNLAB_SOURCES"
