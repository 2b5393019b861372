//! What to do to achieve a mapping: changes of the source if one thread first touched memory that
//! others use, and commands.

use super::figures::Report;
use super::structures::{Sharing, StructureUse, joined};
use crate::mapping::MIN_EXCLUSIVITY;
use crate::profile::PageProfile;
use crate::trace::RegionKind;

/// Structures with less than this share of all accesses, in per cent, are not worth a step. Ours.
const NOTABLE: f64 = 1.0;

/// Below this share of remote accesses, in per cent, first touch served a structure well. Ours.
const REMOTE: f64 = 10.0;

/// Maximum number of structures that are named.
const MOST: usize = 5;

/// One step to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What and why, in words.
    pub what: String,
    /// The command to type, if the step is a command.
    pub command: Option<String>,
}

/// The steps towards a mapping, the most useful first.
pub fn of(report: &Report, profile: &PageProfile, policy: &str, file: &str) -> Vec<Step> {
    match policy {
        "first-touch" => Vec::new(),
        "interleave" => vec![interleave(profile), apply(policy, file, report.min_excl)],
        _ => {
            let structures = joined(&report.structures, report.min_excl);
            let notable = |one: &&StructureUse| {
                one.percent.is_some_and(|percent| percent >= NOTABLE)
                    && one.remote.is_some_and(|remote| remote >= REMOTE)
            };
            let named = structures.iter().filter(notable).take(MOST);
            let mut steps: Vec<Step> = named.filter_map(|one| source(one, report, profile)).collect();
            steps.extend([apply(policy, file, report.min_excl), pin(report)]);
            steps
        }
    }
}

/// The change of the source that puts a structure on the node that uses it.
fn source(one: &StructureUse, report: &Report, profile: &PageProfile) -> Option<Step> {
    let name = named(one, profile);
    let percent = one.percent?;
    let first = first_touch(one, profile);
    let what = match (one.sharing(report.min_excl), one.stack_of) {
        (Sharing::Unused, _) => return None,
        (Sharing::Shared, Some(_)) => format!(
            "{name} ({percent:.0} % of all accesses) is used by several threads: data that they share \
             belongs on the heap, where it can be spread over the nodes."
        ),
        (Sharing::Shared, None) if one.pages < report.nodes as u64 => format!(
            "{name} ({percent:.0} % of all accesses) is too small to be spread, and several nodes use it: if \
             its parts belong to one thread each, give each part a page of its own."
        ),
        (Sharing::Shared, None) => format!(
            "Spread {name} ({percent:.0} % of all accesses, shared) over all nodes: allocate it with \
             numa_alloc_interleaved(), or call mbind() with MPOL_INTERLEAVE before its first touch."
        ),
        (_, Some(_)) => format!(
            "{name} ({percent:.0} % of all accesses): {first}, while it created the threads. Pin threads before they \
             start, and let each thread allocate its own stack or scratch memory."
        ),
        (_, None) => format!(
            "Initialise {name} ({percent:.0} % of all accesses) in parallel, with the same division of work \
             as the loop that uses it: {first}, and other nodes make {:.0} % of the accesses to it.",
            one.remote?
        ),
    };
    Some(Step { what, command: None })
}

/// What to call a structure in a sentence.
fn named(one: &StructureUse, profile: &PageProfile) -> String {
    let known = profile.structures.iter().find(|structure| structure.name == one.name);
    let name = match known.and_then(|structure| structure.region.as_ref()).map(|region| &region.kind) {
        Some(RegionKind::File { .. }) => format!("the static data of {}", one.name),
        Some(RegionKind::Heap) => "what is on the heap".to_owned(),
        Some(RegionKind::Anonymous { .. }) => format!("the mapping `{}`", one.name),
        _ => one.name.clone(),
    };
    one.line.as_ref().map_or_else(|| name.clone(), |line| format!("{name} ({line})"))
}

/// Which thread touched a structure first, in words.
fn first_touch(one: &StructureUse, profile: &PageProfile) -> String {
    let name = |thread: u32| {
        profile.threads.get(isobar_model::num::index(thread)).cloned().unwrap_or_else(|| format!("T{thread}"))
    };
    one.first_thread().map_or_else(
        || "several threads touched it first".to_owned(),
        |thread| {
            format!("{} touched {} first", name(thread), if one.name.starts_with("stacks ") { "them" } else { "it" })
        },
    )
}

fn interleave(profile: &PageProfile) -> Step {
    let what = "Spread all memory of the program over all nodes:".to_owned();
    let command: Vec<String> = profile.header.command.iter().map(|word| quoted(word)).collect();
    let command = if command.is_empty() { "COMMAND".to_owned() } else { command.join(" ") };
    Step { what, command: Some(format!("numactl --interleave=all -- {command}")) }
}

fn apply(policy: &str, file: &str, min_excl: f64) -> Step {
    let what = "Or leave the program as it is, and move its pages while it runs (PID is its process):".to_owned();
    let other = policy == "mixed" && min_excl.total_cmp(&MIN_EXCLUSIVITY).is_ne();
    let min_excl = if other { format!(" --min-excl {min_excl}") } else { String::new() };
    Step { what, command: Some(format!("isobar pages apply {} PID --policy {policy}{min_excl}", quoted(file))) }
}

fn pin(report: &Report) -> Step {
    let what = format!(
        "Keep each thread on the CPUs of its node, since a page is near its thread only while the thread \
         stays. This report has {} threads on {} nodes; with OpenMP:",
        report.threads, report.nodes
    );
    Step { what, command: Some("OMP_PLACES=cores OMP_PROC_BIND=close".to_owned()) }
}

/// A word, quoted so that a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use crate::report::examples::{advice, matmul, profile};

    #[test]
    fn the_matrix_product_is_told_what_to_initialise_in_parallel() {
        let steps = advice(&matmul(), 4).steps;
        let text: Vec<&str> = steps.iter().map(|step| step.what.as_str()).collect();
        assert!(text[0].starts_with("stack of T0 (62 % of all accesses) is used by several threads"), "{text:?}");
        assert!(text[1].starts_with("stacks of T1-T3 (33 % of all accesses): T0 touched them first"), "{text:?}");
        assert!(text[2].starts_with("Initialise C (3 % of all accesses) in parallel"), "{text:?}");
        assert!(text[2].contains("T0 touched it first, and other nodes make 71 % of the accesses to it"), "{text:?}");
        assert!(text[3].starts_with("Initialise A (2 % of all accesses)"), "{text:?}");
        let apply = steps[4].command.as_deref();
        assert_eq!(apply, Some("isobar pages apply 'run 1.trace' PID --policy balanced"));
        assert_eq!(steps.last().unwrap().command.as_deref(), Some("OMP_PLACES=cores OMP_PROC_BIND=close"));
    }

    #[test]
    fn what_is_smaller_than_the_nodes_are_many_is_not_to_be_spread() {
        let mut rows = vec![[500, 0, 0, 0], [0, 500, 0, 0], [0, 0, 500, 0], [0, 0, 0, 500]];
        rows.push([100; 4]);
        let steps = advice(&profile(&rows, &[("grid", 0..4), ("sums", 4..5)]), 4).steps;
        assert!(steps[1].what.starts_with("sums (17 % of all accesses) is too small to be spread"), "{steps:?}");
    }

    #[test]
    fn shared_pages_are_interleaved_by_a_command_that_a_shell_understands() {
        let mut shared = profile(&[[25; 4], [26, 24, 25, 25], [24, 25, 26, 25], [25; 4]], &[("table", 0..4)]);
        shared.header.command = vec!["./a.out".into(), "it's".into(), String::new()];
        let steps = advice(&shared, 4).steps;
        assert_eq!(steps[0].command.as_deref(), Some(r"numactl --interleave=all -- ./a.out 'it'\''s' ''"));
    }
}
