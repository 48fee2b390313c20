#!/usr/bin/env bash
# Builds libFuzzer's programs and runs each for some time, from the project's own files on. What they find, and the
# inputs that they came to, is kept in build/fuzz/corpus. usage: tests/fuzz/run.sh [SECONDS [INPUT...]] (default: 60
# seconds each of manifest, sentencepiece, tokenizer_json, safetensors and spec)
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
inputs=("${@:2}")
[ ${#inputs[@]} -gt 0 ] || inputs=(manifest sentencepiece tokenizer_json safetensors spec)
./setup.sh --sanitizers
export PATH="$PWD/.venv/bin:$PATH"
[ -e build/fuzz/build.ninja ] || cmake --preset fuzz -Wno-dev >/dev/null
cmake --build --preset fuzz --target fuzzers

corpus=build/fuzz/corpus
for input in "${inputs[@]}"; do
  mkdir -p "$corpus/$input"
done
# seed INPUT FILE: puts a file of the project into a corpus, under a name that tells where it was.
seed() { if [ -d "$corpus/$1" ]; then cp "$2" "$corpus/$1/seed-$(basename "$2")"; fi; }
for spec in tests/end-to-end/specs/*.yaml examples/*/*.yaml; do seed spec "$spec"; done
for json in tests/runtime/tokenizers/*.json; do seed tokenizer_json "$json"; done
for model in examples/*/*.model; do seed sentencepiece "$model"; done
toy=$(mktemp -d)
trap 'rm -rf "$toy"' EXIT
build/fuzz/bin/write-toy-bundle build/fuzz/lib/libtoy.so "$toy/bundle"
seed safetensors "$toy/bundle/weights.safetensors"
head -c -48 "$toy/bundle/manifest.json" >"$toy/unsealed.json" # the program seals it
seed manifest "$toy/unsealed.json"

failed=()
for input in "${inputs[@]}"; do
  echo "== $input"
  "build/fuzz/bin/fuzz_$input" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$corpus/$input-" "$corpus/$input" 2>&1 | grep -v "^#\|NEW_FUNC" || failed+=("$input")
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "found something in: ${failed[*]} (inputs: $corpus/INPUT-crash-..., -oom-..., -timeout-...)" >&2
  exit 1
fi
