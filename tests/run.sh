#!/usr/bin/env bash
# Builds and runs every test. usage: tests/run.sh [PRESET] (ci, dev, asan, tsan; default ci)
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-ci}
case $preset in
  asan | tsan) ./setup.sh --sanitizers ;;
  *) ./setup.sh ;;
esac
export PATH="$PWD/.venv/bin:$PATH"
[ -e "build/$preset/build.ninja" ] || cmake --preset "$preset" -Wno-dev >/dev/null
cmake --build --preset "$preset"
case $preset in
  asan | tsan) ctest --preset "$preset" ;; # two at once: instrumented compilers are large
  *) ctest --preset "$preset" --parallel "$(nproc)" ;;
esac
