#!/usr/bin/env bash
# Installs what the build needs on Debian 12: system packages with apt-get, CMake, Halide and lit with pip into .venv.
# Run again it only checks, which takes under a second.
set -euo pipefail
cd "$(dirname "$0")"

packages=(
  g++ ninja-build ccache lld-22 python3-dev python3-venv
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools zlib1g-dev libzstd-dev libxml2-dev
  libyaml-cpp-dev nlohmann-json3-dev libcli11-dev libxxhash-dev libsentencepiece-dev libutf8proc-dev libgtest-dev
)
if [ "${1:-}" = --sanitizers ]; then
  packages+=(clang-22 libclang-rt-22-dev)
fi

missing() { dpkg-query -W -f '${Status} ${Package}\n' "${packages[@]}" 2>&1 | grep -v '^install ok installed' || true; }

if [ -n "$(missing)" ]; then
  root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "setup.sh: run as root, or install: ${packages[*]}" >&2; exit 1; }
    root=(sudo)
  fi
  echo "setup: installing Debian packages" >&2
  export DEBIAN_FRONTEND=noninteractive
  "${root[@]}" apt-get update -qq
  "${root[@]}" apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
fi

requirements='halide==21.0.0 cmake>=3.28,<4 lit==23.1.5'
if [ "$(cat .venv/requirements 2>/dev/null)" != "$requirements" ]; then
  echo "setup: installing Python packages into .venv" >&2
  rm -rf .venv
  /usr/bin/python3 -m venv .venv
  # shellcheck disable=SC2086
  .venv/bin/pip install -q --disable-pip-version-check $requirements
  echo "$requirements" >.venv/requirements
fi
