# What the command `numasim` says of wrong input: each time one line on standard error that begins
# `numasim:`, names the file, line, key or option, and says what would be right. Sourced by run.sh,
# after command.sh.

# wrong NAME PATTERN COMMAND...: ends with 1 or 2, prints nothing else, and says one line that the
# pattern (extended) finds.
wrong() {
    local name=$1 pattern=$2 code=0
    shift 2
    "$@" > "$work/said" 2> "$work/errors" || code=$?
    case $code in 1 | 2) ;; *) fault "$name" "ended with $code, not with 1 or 2" ;; esac
    [ ! -s "$work/said" ] || fault "$name" "printed something on standard output"
    [ "$(grep -c '' "$work/errors")" = 1 ] || fault "$name" "did not say one line"
    grep -qE -- "^numasim: .*$pattern" "$work/errors" || fault "$name" "did not say: $pattern"
    none_left || fault "$name" "left a process: $(left)"
    cat "$work/errors" >> "$work/said"
    verdict "$name"
}
# A machine file changed by a line of sed, booted.
wrong_machine() { wrong "$1" "$2" numasim boot "$(changed "$3")" --seconds 60 --keep "$work/kept" -- true; }
wrong_boot() {
    local name=$1 pattern=$2
    shift 2
    wrong "$name" "$pattern" numasim boot "$machine" --keep "$work/kept" "$@"
}

input_faults() {
    emulator=$qemu
    wrong_machine "a machine of another shape" 'changed.toml: line [0-9]+: unclosed table' 's/^\[queue\]/[queue/'
    wrong_machine "no latencies for all pairs" '`latency.ns` must have 2 rows of 2 values' 's/^ns = .*/ns = [[1200.0]]/'
    wrong_machine "a CPU on two nodes" '`node.cpus` must name every CPU from 0 to 3 exactly once; look at CPU 1' 's/cpus = "2-3"/cpus = "1-2"/'
    wrong_machine "a link to nowhere" '`link.b` names node 7, which is not listed' 's/^b = 1/b = 7/'
    wrong_machine "a clock that is no number" '`clock_mhz` is NaN; it must be a number' 's/^clock_mhz = .*/clock_mhz = nan/'
    wrong_machine "a clock on which nothing boots" '`clock_mhz`: 0.0001: Linux does not boot with less than 1 MHz' 's/^clock_mhz = .*/clock_mhz = 0.0001/'
    wrong_machine "too little memory to boot" '`node.memory_mib`: 32 MiB in all: Linux does not boot with less than 256' 's/memory_mib = 512/memory_mib = 16/'
    wrong "a machine that does not exist" 'no machine is called `nehalem`; there are .*nehalem-2x4.*small-2x2' numasim boot nehalem -- true
    wrong "a machine file that does not exist" '/nowhere.toml: No such file' numasim boot "$work/nowhere.toml" -- true
    : > "$work/empty.toml"
    wrong "an empty machine file" 'empty.toml: line 1: missing field `name`' numasim boot "$work/empty.toml" -- true
    printf '\377\376' > "$work/binary.toml"
    wrong "a machine file that is no text" 'binary.toml: .*UTF-8' numasim boot "$work/binary.toml" -- true
    wrong "a scale of nothing" '--time-scale: is 0; it must be a number from' numasim boot nehalem-2x4 --time-scale 0 -- true
    wrong "a scale for a file that has its own" 'states its own scale: leave out --time-scale' wrong_scale
    wrong "an option that does not exist" "unexpected argument '--colour'.*see --help" numasim boot small-2x2 --colour -- true
    wrong "no command" 'required arguments.*<COMMAND>' numasim boot small-2x2
    wrong_boot "an empty command" 'the command: is empty: write it behind --' -- ''
    wrong_boot "no time" "invalid value '0' for '--seconds" --seconds 0 -- true
    wrong_boot "a program that does not exist" '/nowhere/program: No such file' --add "$work/nowhere/program" -- true
    # Where the whole workspace is built, as in CI, its file is what is missing.
    wrong_boot "a package that does not exist" 'cargo build: .*`nothing` did not match any packages|debug/nothing: No such file' --package nothing -- true
    wrong "a file in place of a folder" 'kept-file: File exists' file_for_folder
    wrong "no folder for temporary files" '/nowhere: No such file' env TMPDIR=/nowhere NUMASIM_QEMU="$qemu" NUMASIM_KERNEL="$kernel" "$bin/numasim" boot small-2x2 -- true
    wrong "a kernel that is none" 'QEMU aborted: .*kernel' kernel_of_text
    wrong "a plugin that is none" 'QEMU aborted: .*Could not load plugin .*invalid ELF header' plugin_of_text
    wrong "an experiment that is none" 'small-2x2.toml: line [0-9]+: unknown field' numasim experiment "$machine"
    wrong "a contender that does not exist" '--only: no contender.s name contains `nobody`; there are ' numasim experiment numasim/experiments/ci.toml --only nobody
    wrong "a program that is not measured" '--program: no program is called `nobody`' numasim experiment numasim/experiments/ci.toml --program nobody
    wrong "a shard that is none" "invalid value '3/2' for '--shard.*expected I/N with I from 1 to N" numasim experiment numasim/experiments/ci.toml --results "$work/results" --shard 3/2
    wrong "a shard with a width" "'--shard <I/N>' cannot be used with '--until|'--until <PERCENT>' cannot be used with '--shard" numasim experiment numasim/experiments/ci.toml --results "$work/results" --shard 1/2 --until 2
    wrong "a shard without results" 'required arguments.*--results' numasim experiment numasim/experiments/ci.toml --shard 1/2
    wrong "a width of nothing" "invalid value '0' for '--until" numasim experiment numasim/experiments/ci.toml --until 0
    wrong "a kernel to compare that does not exist" 'kernel A: .*/nowhere is neither a file nor a release: name a kernel image' numasim kernels "$work/nowhere" "$kernel"
    mkdir -p "$work/no-results"
    wrong "results that are none" 'holds no results: .numasim experiment FILE --results DIR. writes them' numasim merge "$work/no-results"
    wrong "a law that does not exist" '--only: no law is called `gravity`' numasim laws --only gravity
}

wrong_scale() { numasim boot "$machine" --time-scale 5 -- true; }
file_for_folder() { : > "$work/kept-file"; numasim boot "$machine" --keep "$work/kept-file" -- true; }
kernel_of_text() { kernel=$machine boot -- true; }
plugin_of_text() { plugin=$machine boot -- true; }
