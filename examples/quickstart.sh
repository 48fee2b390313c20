#!/usr/bin/env bash
# Sets up, builds attnc, compiles examples/korean-english and translates a sentence with it.
set -euo pipefail
cd "$(dirname "$0")/.."
./setup.sh
export PATH="$PWD/.venv/bin:$PATH"
[ -e build/release/build.ninja ] || cmake --preset release -Wno-dev >/dev/null
cmake --build --preset release
attnc=build/release/bin/attnc
bundle=build/korean-english
# Anew where the compiler, the spec, the weights or the tokenizer is newer than the bundle.
[ -e "$bundle/manifest.json" ] && [ -z "$(find "$attnc" examples/korean-english -newer "$bundle/manifest.json" -print -quit)" ] ||
  "$attnc" compile examples/korean-english/model.yaml -o "$bundle"
echo '어제 카페 갔었어 거기 사람 많더라' | "$attnc" run "$bundle"
