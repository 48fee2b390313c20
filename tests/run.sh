#!/usr/bin/env bash
# Builds and runs every test. usage: tests/run.sh [PRESET] (ci, dev, asan, tsan; default ci)
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-ci}
case $preset in
  asan | tsan) ./setup.sh --sanitizers; jobs=() ;; # the preset's two: instrumented compilers are large
  *) ./setup.sh; jobs=(--parallel "$(nproc)") ;;
esac
export PATH="$PWD/.venv/bin:$PATH"
[ -e "build/$preset/build.ninja" ] || cmake --preset "$preset" -Wno-dev >/dev/null
cmake --build --preset "$preset"
ctest --preset "$preset" "${jobs[@]}"
