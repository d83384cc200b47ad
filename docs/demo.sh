#!/bin/sh
# The main job in three commands, on a sample cluster: no Go, no Kubernetes, no account.
# Run by `make demo`; needs `claimfit` on the PATH.
set -eu

show() {
    printf '\n$ %s\n' "$*"
    "$@"
}

echo "1. Size a model and write the claim that fits it on NVIDIA devices."
show claimfit claim Qwen/Qwen3-30B-A3B --context 32768 --min-tps 40 --target gpu.nvidia.com

echo
echo "2. Where does it fit on a cluster, and how fast? (sample:mixed; yours: kubectl get ... | --cluster -)"
show claimfit fit Qwen/Qwen3-30B-A3B --context 32768 --min-tps 40 --cluster sample:mixed

echo
echo "3. And which Llama models would these devices serve at reading speed?"
show claimfit fit --cluster sample:mixed --query llama --limit 5
