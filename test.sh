#!/bin/bash
# All tests, on a Debian 12 or 13 with nothing prepared: installs the packages of tests/packages.txt
# that are missing (as root, or sudo asks once), then runs the steps of tests/steps.py.
#
#   ./test.sh                 everything, from fast to slow
#   ./test.sh unit style      these steps, and what they need
#   ./test.sh -h              the list of steps
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
case " $* " in
*" -h "* | *" --help "*) ;;
*) tests/install-packages test ;;
esac
if ! command -v python3 >/dev/null; then
    echo "test.sh: python3 is missing; tests/install-packages installs it" >&2
    exit 1
fi
exec python3 tests/steps.py "$@"
