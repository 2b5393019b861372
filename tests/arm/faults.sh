#!/usr/bin/env bash
# Does the Arm test find faults? See scripts/faults.sh: tests/arm/faults.sh [NAME ... | --apply]
exec bash "$(dirname "$0")/../../scripts/faults.sh" arm one "$@"
