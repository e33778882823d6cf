#!/usr/bin/env bash
# Runs the Qwen3-VL profile in the 2B shape with random weights on a GPU: checks it and prints tokens/s, MFU and peak memory.
# Needs torch, transformers and peft, nothing else of this project's packages; at most 8 minutes. --tiny: a small shape, on the CPU too.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
python="${PYTHON:-}"
if [ -z "$python" ]; then
    for p in "$root/.venv/bin/python" python3 python; do
        if command -v "$p" >/dev/null 2>&1 && "$p" -c 'import torch' >/dev/null 2>&1; then python="$p"; break; fi
    done
fi
if [ -z "$python" ]; then
    echo "no Python with torch was found; name one: PYTHON=/path/to/python $0"; exit 2
fi
missing="$("$python" -c 'import importlib.util as u; print(" ".join(m for m in ("torch", "transformers", "peft") if u.find_spec(m) is None))')"
if [ -n "$missing" ]; then
    echo "$python lacks $missing: $python -m pip install 'transformers>=5.16' 'peft>=0.18'"; exit 2
fi
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}" HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
# The script bounds itself; this is for a driver that hangs.
exec timeout --signal=INT --kill-after=10 480 "$python" -W ignore "$root/bench/gpu_check.py" "$@"
