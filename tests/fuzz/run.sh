#!/usr/bin/env bash
# Builds libFuzzer's programs and runs each for some time, from the project's own files and what earlier runs found and
# came to on (build/fuzz/corpus and build/fuzz/found). usage: tests/fuzz/run.sh [SECONDS [INPUT...]] (default: 60
# seconds each of all inputs: Manifest, SentencePiece, TokenizerJson, Safetensors, Spec)
set -euo pipefail
cd "$(dirname "$0")/../.."
all=(Manifest SentencePiece TokenizerJson Safetensors Spec)
seconds=${1:-60}
inputs=("${@:2}")
[ ${#inputs[@]} -gt 0 ] || inputs=("${all[@]}")
usage() {
  echo "$1; usage: tests/fuzz/run.sh [SECONDS [INPUT...]], inputs: ${all[*]}" >&2
  exit 2
}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || usage "'$seconds' is no number of seconds"
for input in "${inputs[@]}"; do
  [[ " ${all[*]} " == *" $input "* ]] || usage "'$input' is no input"
done

./setup.sh --sanitizers
export PATH="$PWD/.venv/bin:$PATH"
[ -e build/fuzz/build.ninja ] || cmake --preset fuzz -Wno-dev >/dev/null
cmake --build --preset fuzz

corpus=build/fuzz/corpus found=build/fuzz/found
for input in "${all[@]}"; do
  mkdir -p "$corpus/$input" "$found/$input"
done
# seed INPUT FILE: puts a file into a corpus, under a name that tells where it was.
seed() { cp "$2" "$corpus/$1/seed${2//\//-}"; }
for spec in ./tests/end-to-end/specs/*.yaml ./examples/*/*.yaml; do seed Spec "$spec"; done
for json in ./tests/runtime/tokenizers/*.json; do seed TokenizerJson "$json"; done
for model in ./examples/*/*.model; do seed SentencePiece "$model"; done
toy=$(mktemp -d)
trap 'rm -rf "$toy"' EXIT
build/fuzz/bin/write-toy-bundle build/fuzz/lib/libtoy.so "$toy/bundle"
cp "$toy/bundle/weights.safetensors" "$corpus/Safetensors/seed-toy"
head -c -48 "$toy/bundle/manifest.json" >"$corpus/Manifest/seed-toy" # without its seal

failed=()
for input in "${inputs[@]}"; do
  echo "== $input"
  limits=(-timeout=10 -rss_limit_mb=4096 "-artifact_prefix=$found/$input/")
  earlier=("$found/$input"/*)
  if [ -e "${earlier[0]}" ] && ! "build/fuzz/bin/Fuzz$input" "${limits[@]}" "${earlier[@]}" 2>&1; then
    failed+=("$input")
    continue
  fi
  "build/fuzz/bin/Fuzz$input" "${limits[@]}" -max_total_time="$seconds" -print_final_stats=1 "$corpus/$input" 2>&1 |
    grep -a -v "^#\|NEW_FUNC\|# Uses:" || failed+=("$input")
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "found something in: ${failed[*]} (see $found/)" >&2
  exit 1
fi
