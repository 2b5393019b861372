#!/usr/bin/env bash
# Does the machine test find faults? See scripts/faults.sh: tests/vm/faults.sh [NAME ... | --apply]
exec bash "$(dirname "$0")/../../scripts/faults.sh" vm "" "$@"
