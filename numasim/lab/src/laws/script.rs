//! What the guest does, as steps, and the steps as a shell script for busybox. Programs are placed
//! by `taskset` and `numactl --membind`, touch their memory before they start, and are observed
//! through the machine's page. Every line that the script writes begins with `@`; see
//! [`super::reading`].

use std::fmt::Write;

/// A program, where it runs, and where its memory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name in the script, which is unique there; letters and digits.
    pub name: String,
    /// A CPU or several, as `taskset -c` reads them.
    pub cpus: String,
    /// Node of its memory.
    pub node: usize,
    /// Command and arguments, without the options that all programs share.
    pub command: String,
}

/// A step.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Starts a program, which sets up its memory and then waits for [`Step::Go`].
    Start(Program),
    /// Waits until the program has set up its memory.
    Ready(String),
    /// Lets programs go, all at the same time.
    Go(Vec<String>),
    /// Waits for the end of several programs, without printing, which would take a CPU's time.
    Await(Vec<String>),
    /// Waits for the program's end, and prints its line.
    Finish(String),
    /// Ends a program that would go on.
    Stop(String),
    /// Prints the page's contents, under a label.
    Look(String),
    /// Prints the page's contents, including threads, under a label.
    LookAtThreads(String),
    /// Prints the page's contents again and again, under a label, until [`Step::Unwatch`].
    Watch(String),
    /// Ends the watch.
    Unwatch,
    /// Sleeps for this number of guest seconds.
    Sleep(f64),
    /// Gives class 1 of an LLC these ways, and puts a CPU into that class.
    Ways {
        /// the LLC
        llc: usize,
        /// one bit per way
        mask: u64,
        /// the CPU
        cpu: usize,
    },
    /// Puts all CPUs into class 0, with all ways.
    ResetWays,
    /// Empties all caches.
    Empty,
    /// Prints a line of this kind, for a reader that takes the host's time.
    Mark(String),
}

/// Seconds between two readings of a watch.
const WATCH_SECONDS: f64 = 0.02;

const HEAD: &str = r#"cd /tmp
begin() {
    n=$1 c=$2 m=$3; shift 3
    rm -f "$n.ready" "$n.go"
    taskset -c "$c" numactl --membind="$m" "$@" --ready-file "/tmp/$n.ready" --start-file "/tmp/$n.go" > "$n.out" 2> "$n.err" &
    eval "pid_$n=$! status_$n="
}
failed() { echo "@failed $1 $2: $(tail -n 1 "$1.err")"; }
ready() {
    eval "pid=\$pid_$1"
    while [ ! -e "$1.ready" ]; do
        [ -d "/proc/$pid" ] || { failed "$1" "it ended in its set-up"; return; }
        sleep 0.005
    done
}
await() { for n; do eval "wait \$pid_$n; status_$n=\$?"; done; }
finish() {
    eval "[ \"\$status_$1\" ]" || await "$1"
    eval "status=\$status_$1"
    if [ "$status" = 0 ]; then echo "@line $1 $(cat "$1.out")"; else failed "$1" "it ended with status $status"; fi
}
stop() { eval "kill -TERM \$pid_$1"; await "$1"; }
look() { numasim-ctl publish; echo "@look $1 $(numasim-counters --json 2>&1)"; }
threads() { numasim-ctl publish; echo "@threads $1 $(numasim-counters --json --threads 2>&1)"; }
ways() { numasim-ways "$@" 2> ways.err || failed ways "$*"; }
"#;

/// The script of these steps.
pub fn text(steps: &[Step]) -> String {
    let mut text = HEAD.to_owned();
    for step in steps {
        line(&mut text, step);
    }
    text.push_str("echo @end\n");
    text
}

/// Appends a step to the script. Writing into a `String` never fails.
fn line(text: &mut String, step: &Step) {
    let _ = match step {
        Step::Start(Program { name, cpus, node, command }) => writeln!(text, "begin {name} {cpus} {node} {command}"),
        Step::Ready(name) => writeln!(text, "ready {name}"),
        Step::Go(names) => {
            writeln!(text, "touch {}", names.iter().map(|name| format!("{name}.go ")).collect::<String>())
        }
        Step::Await(names) => writeln!(text, "await {}", names.join(" ")),
        Step::Finish(name) => writeln!(text, "finish {name}"),
        Step::Stop(name) => writeln!(text, "stop {name}"),
        Step::Look(label) => writeln!(text, "look {label}"),
        Step::LookAtThreads(label) => writeln!(text, "threads {label}"),
        Step::Watch(label) => {
            writeln!(text, "numasim-counters --json --watch {WATCH_SECONDS} > watch.out & watch=$!; watched={label}")
        }
        // The last line may be incomplete.
        Step::Unwatch => {
            writeln!(text, "kill $watch; wait $watch 2> /dev/null; grep '}}$' watch.out | sed \"s/^/@look $watched /\"")
        }
        Step::Sleep(seconds) => writeln!(text, "sleep {seconds}"),
        Step::Ways { llc, mask, cpu } => writeln!(text, "ways --llc {llc} --class 1 --mask {mask:#x} --cpus {cpu}"),
        Step::ResetWays => writeln!(text, "ways --reset"),
        Step::Empty => writeln!(text, "numasim-ctl empty"),
        Step::Mark(word) => writeln!(text, "echo @mark {word}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_become_lines() {
        let chase = Program { name: "a".into(), cpus: "3".into(), node: 1, command: "chase --work 9".into() };
        let steps = [
            Step::Start(chase),
            Step::Go(vec!["a".into(), "b".into()]),
            Step::Ways { llc: 1, mask: 255, cpu: 3 },
            Step::Sleep(0.25),
        ];
        let text = text(&steps);
        let ours = text.strip_prefix(HEAD).unwrap();
        let expected = "begin a 3 1 chase --work 9\ntouch a.go b.go \nways --llc 1 --class 1 --mask 0xff \
                        --cpus 3\nsleep 0.25\necho @end\n";
        assert_eq!(ours, expected);
    }
}
