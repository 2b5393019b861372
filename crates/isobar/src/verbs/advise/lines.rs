//! Formats advice for a person: a description of each program, then a table of its choices, the
//! best first. If advice on all programs is wanted, programs that are best left alone are named in
//! one line.

use super::about::{About, command, sure};
use super::target::AdviceTarget;
use crate::text::{aligned, plural, short, signed_percent as percent, some_of};
use isobar_model::{NodeId, num};
use isobar_runtime::advise::{Advice, AdviceKind, Choice};
use std::ffi::OsString;

/// Maximum number of programs named in one line.
const NAMED: usize = 8;

/// Maximum number of programs shown with all choices.
const SHOWN: usize = 6;
/// Each prediction holds only while the other programs stay as they are.
const ONE: &str = "Each gain is predicted with all other programs where they are now: apply one, then run advise again. \
                   `isobar manage --policy isobar` does that, and takes back changes that did harm.";

/// The output for a person.
pub fn all(all: &[Advice], about: &About<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let (left, other): (Vec<&Advice>, Vec<&Advice>) =
        all.iter().partition(|one| *about.of == AdviceTarget::All && one.choices.first().is_none_or(is_leave));
    for advice in other.iter().take(SHOWN) {
        lines.extend(of(advice, about));
    }
    if other.len() > SHOWN {
        let more = plural(other.len() - SHOWN, "more program");
        lines.push(format!("{more} with less to gain: `isobar advise PID`, or --json for all of them"));
    }
    if other.len() > 1 {
        lines.push(ONE.to_owned());
    }
    let (unknown, left): (Vec<&Advice>, Vec<&Advice>) = left.into_iter().partition(|one| one.choices.is_empty());
    let named = |list: &[&Advice]| {
        let names: Vec<String> = list.iter().map(|one| format!("{} ({})", short(&one.name, 24), one.pid)).collect();
        some_of(&names, NAMED)
    };
    if !left.is_empty() {
        lines.push(format!("leave {}: {}", plural(left.len(), "program"), named(&left)));
    }
    if !unknown.is_empty() {
        lines.push(format!("no prediction for {}: {}; {UNKNOWN}", plural(unknown.len(), "program"), named(&unknown)));
    }
    if all.is_empty() {
        lines.push("no program is busy: nothing to advise".to_owned());
    }
    lines.extend(balancing(all, about));
    lines
}

const UNKNOWN: &str = "its counters gave no values for three seconds in a row; watch longer with --for";

fn is_leave(choice: &Choice) -> bool {
    choice.what == AdviceKind::Leave
}

/// The lines of a program.
fn of(advice: &Advice, about: &About<'_>) -> Vec<String> {
    let mut lines = vec![head(advice)];
    if advice.choices.is_empty() {
        lines.push(format!("  no prediction: {UNKNOWN}"));
    }
    let title = ["advice", "gain", "range", "confidence", "others", "to type"].map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> =
        std::iter::once(title).chain(advice.choices.iter().map(|one| row(one, advice, about))).collect();
    if rows.len() > 1 {
        lines.extend(aligned(&rows, &[0, 2, 3, 5]).into_iter().map(|line| format!("  {line}")));
    }
    lines
}

/// `lbm (pid 1000): 1 thread on node 0; pages 100 % on node 0; 23.1 misses per 1000 instructions`.
fn head(advice: &Advice) -> String {
    let on: Vec<String> =
        advice.threads.iter().map(|(node, count)| format!("{} on node {}", plural(*count, "thread"), node.0)).collect();
    let pages = match &advice.pages {
        None => "pages not measured".to_owned(),
        Some(pages) => {
            let some = pages.iter().filter(|(_, part)| *part >= 0.005);
            let part = |(node, part): &(NodeId, f64)| format!("{} % on node {}", num::round(part * 100.0), node.0);
            format!("pages {}", some.map(part).collect::<Vec<_>>().join(", "))
        }
    };
    let bound = if advice.pinned { "; bound by its owner" } else { "" };
    let misses = advice.misses * 1000.0;
    let name = short(&advice.name, 32);
    format!("{name} (pid {}): {}; {pages}; {misses:.1} misses per 1000 instructions{bound}", advice.pid, on.join(", "))
}

fn row(choice: &Choice, advice: &Advice, about: &About<'_>) -> Vec<String> {
    if is_leave(choice) {
        return vec!["leave".into(), "0 %".into(), String::new(), String::new(), String::new(), String::new()];
    }
    let (low, high) = choice.range;
    vec![
        what(&choice.what),
        percent(choice.gain),
        format!("{} to {}", percent(low), percent(high)),
        sure(choice.confidence).to_owned(),
        percent(choice.others),
        command(choice, advice, about).unwrap_or_default(),
    ]
}

fn what(what: &AdviceKind) -> String {
    let list = |nodes: &[NodeId]| nodes.iter().map(|node| node.0.to_string()).collect::<Vec<_>>().join(",");
    match what {
        AdviceKind::Leave => "leave".to_owned(),
        AdviceKind::Bind(node) => format!("bind to node {}", node.0),
        AdviceKind::Gather(node) => format!("pages to node {}", node.0),
        AdviceKind::Interleave(nodes) => format!("interleave {}", list(nodes)),
        AdviceKind::Split(weights) => {
            let weights: Vec<String> = weights.iter().map(|(node, weight)| format!("{}:{weight}", node.0)).collect();
            format!("split {}", weights.join(","))
        }
    }
}

/// What NUMA balancing means for the advice, and which programs' advice it would undo.
fn balancing(all: &[Advice], about: &About<'_>) -> Option<String> {
    if about.balancing != Some(true) {
        return None;
    }
    let spread = |one: &&Advice| {
        matches!(one.choices.first().map(|best| &best.what), Some(AdviceKind::Interleave(_) | AdviceKind::Split(_)))
            || (one.follows && matches!(one.choices.first().map(|best| &best.what), Some(AdviceKind::Gather(_))))
    };
    let names: Vec<String> =
        all.iter().filter(spread).map(|one| format!("{} ({})", short(&one.name, 24), one.pid)).collect();
    let given = "NUMA balancing is on, and the predictions include it: pages that it will bring to their threads \
                 count as being there";
    Some(if names.is_empty() {
        format!("{given}; it undoes no advice for these programs")
    } else {
        let names = some_of(&names, NAMED);
        format!(
            "{given}. It undoes the advice for {names}: start the program under the memory policy above, which \
             balancing respects, or turn balancing off while the program runs (sysctl kernel.numa_balancing=0)"
        )
    })
}

/// The command that was typed, if a shell would read it unchanged; otherwise a placeholder.
pub fn typed(command: &[OsString]) -> String {
    let words: Option<Vec<&str>> = command.iter().map(|word| word.to_str()).collect();
    let plain =
        |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_./=-+:,@%".contains(c));
    words.filter(|words| words.iter().all(plain)).map_or_else(|| "COMMAND".to_owned(), |words| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_only_where_a_shell_reads_it_as_it_stands() {
        let typed = |words: &[&str]| typed(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(typed(&["./solver", "--size=4", "a.dat"]), "./solver --size=4 a.dat");
        assert_eq!(typed(&["sh", "-c", "rm -rf $HOME"]), "COMMAND");
        assert_eq!(typed(&["a", ""]), "COMMAND");
    }
}
