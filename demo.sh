#!/bin/bash
# Shows Pumice at work, on a Debian 12 or 13 with nothing prepared: installs the packages that are
# missing (as root, or sudo asks once), builds, starts a control plane and ten simulated nodes on
# loopback, runs the three binaries and sends three jobs. Takes everything down at the end.
#
#   ./demo.sh                      all of that
#   ./demo.sh --keep               leave it running, and say how to reach it
#   ./demo.sh --stop               take down what --keep left
#   ./demo.sh --kubeconfig FILE    on a cluster that exists; the binaries run on this machine
#
# With --kubeconfig:
#   --webhook-url https://HOST:PORT   where that cluster's API server reaches this machine; without
#                                     it admission is skipped
#   --adopt                           use CRDs and webhook configurations that exist, and leave them
#
#   --timeout SECONDS                 how long the jobs may take (120)
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
# What the build prints; shown when it fails.
log=build/demo-build.log

quick=
case " $* " in
*" -h "* | *" --help "*) exec sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0" ;;
esac
tests/install-packages
venv=$(tests/venv)
case " $* " in
*" --stop "*) quick=1 ;;
esac

if [ -z "$quick" ]; then
    mkdir -p build
    echo "building Pumice (messages in $log)"
    if ! { cmake --preset release && cmake --build --preset release; } >"$log" 2>&1; then
        tail -n 40 "$log" >&2
        echo "demo.sh: the build failed" >&2
        exit 1
    fi
fi
exec "$venv/bin/python" demo/demo.py "$@"
