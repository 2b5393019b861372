//! The output of `isobar doctor`: the answer, the figures behind it, and what to type next. The
//! answer comes from the view; this module only presents it.

use crate::text::short;
use isobar_tui::text::wrapped;
use isobar_view::words::{percent, plural, times};
use isobar_view::{Answer, View};
use serde_json::{Value, json};

/// Maximum number of findings that are printed.
const FINDINGS: usize = 6;
/// Slowdowns from this value on are reported.
const SLOW: f64 = 1.1;

/// One screen of text for a person.
pub fn lines(view: &View, machine: Option<&str>, columns: usize) -> Vec<String> {
    let verdict = &view.verdict;
    let mut lines = vec![format!("Does NUMA or cache contention matter now? {}", word(verdict.answer)), String::new()];
    lines.extend(wrapped(&verdict.line(), columns, 6));
    if !verdict.why_not.is_empty() {
        lines.extend(wrapped(&verdict.why_not, columns, 4));
    }
    if !verdict.findings.is_empty() {
        lines.push(String::new());
        lines.push("Evidence, the most serious first:".to_owned());
        let given = verdict.findings.iter().take(FINDINGS);
        lines.extend(given.map(|finding| short(&format!("  {}", finding.words), columns)));
        let more = verdict.findings.len().saturating_sub(FINDINGS);
        lines.extend((more > 0).then(|| format!("  and {more} more")));
    }
    lines.push(String::new());
    lines.push("What was checked:".to_owned());
    for (head, text) in looked_at(view) {
        let mut rows = wrapped(&text, columns.saturating_sub(16), 4).into_iter();
        lines.push(format!("  {head:<14}{}", rows.next().unwrap_or_default()));
        lines.extend(rows.map(|row| format!("{}{row}", " ".repeat(16))));
    }
    lines.push(String::new());
    lines.push("Next:".to_owned());
    let next = next(view, machine);
    let widest = next.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    for (command, why) in next {
        let line = format!("  {command:<widest$}  {why}");
        if line.len() <= columns {
            lines.push(line);
        } else {
            lines.extend([format!("  {command}"), format!("      {why}")]);
        }
    }
    lines
}

/// What the kernel does about pages by itself.
const BALANCED: &str = "the kernel's NUMA balancing is on: it brings pages to the threads that use them";
const NOT_BALANCED: &str = "the kernel's NUMA balancing is off: memory stays where it was first touched";

/// The same as a JSON document.
pub fn document(view: &View, machine: Option<&str>) -> Value {
    let load = |node: &isobar_view::NodeView| json!({ "node": node.id, "load": node.load(), "max_bandwidth": node.max_bandwidth, "latency_ns": node.latency_ns });
    let next: Vec<String> = next(view, machine).into_iter().map(|(command, _)| command).collect();
    json!({
        "answer": view.verdict.answer,
        "verdict": view.verdict.line(),
        "findings": view.verdict.findings,
        "why_not": if view.verdict.why_not.is_empty() { Value::Null } else { json!(view.verdict.why_not) },
        "time": view.time_seconds,
        "nodes": view.nodes.iter().map(load).collect::<Vec<_>>(),
        "slowdowns": slowdowns(view),
        "not_measured": view.gaps,
        "numa_balancing": view.numa_balancing,
        "remarks": view.remarks,
        "next": next,
    })
}

const fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Yes => "YES",
        Answer::No => "NO",
        Answer::NotMeasurable => "NOT MEASURABLE",
    }
}

fn slowdowns(view: &View) -> Vec<Value> {
    let known = view.programs.iter().filter_map(|program| Some((program, program.slowdown?)));
    let one = |(program, slowdown): (&isobar_view::ProgramView, f64)| json!({ "pid": program.pid, "name": program.name, "slowdown": slowdown, "contention": program.contention, "distance": program.distance });
    known.map(one).collect()
}

fn looked_at(view: &View) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    let loads = view.nodes.iter().filter_map(|node| Some(format!("node {} at {}", node.id, percent(node.load()?))));
    rows.push(("controllers", or_dash(&loads.collect::<Vec<_>>())));
    if view.nodes.len() > 1 {
        let fullest = view.links.iter().max_by(|a, b| a.load().total_cmp(&b.load()));
        let links = fullest.map(|link| {
            format!("{}, the fullest ({} to {}) at {}", view.links.len(), link.from, link.to, percent(link.load()))
        });
        rows.push(("links", links.unwrap_or_else(|| "-".to_owned())));
    }
    rows.push(("latency", latency(view)));
    rows.push(("programs", programs(view)));
    rows.push(("pages", remote(view)));
    rows.extend(view.gaps.iter().map(|gap| ("not measured", format!("{}: {}", gap.what, gap.why))));
    let balancing = view.numa_balancing.map(|on| if on { BALANCED } else { NOT_BALANCED });
    rows.extend(balancing.map(|words| ("balancing", words.to_owned())));
    rows.extend(view.remarks.iter().map(|remark| ("remark", remark.clone())));
    rows
}

fn or_dash(parts: &[String]) -> String {
    if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
}

fn latency(view: &View) -> String {
    let Some(worst) = view.latency.iter().max_by(|a, b| a.latency_ns.total_cmp(&b.latency_ns)) else {
        return "-".to_owned();
    };
    let idle = worst.idle_latency_ns.filter(|idle| *idle > 0.0);
    let idle = idle.map(|idle| format!(", {} idle", times(worst.latency_ns / idle))).unwrap_or_default();
    let congested = view.latency.iter().filter(|pair| pair.congested).count();
    let pairs = plural(view.latency.len(), "pair");
    format!(
        "{pairs} of nodes, {congested} congested; the slowest {:.0} ns (node {} to {}{idle})",
        worst.latency_ns, worst.from, worst.to
    )
}

fn programs(view: &View) -> String {
    let runs = view.programs.iter().filter(|program| program.cpus.is_some_and(|cpus| cpus >= 0.1)).count();
    let known = view.programs.iter().filter(|program| program.slowdown.is_some()).count();
    let slow = view.programs.iter().filter(|program| program.slowdown.is_some_and(|slow| slow >= SLOW)).count();
    let known = if known == 0 {
        "no slowdown is known".to_owned()
    } else {
        format!("the slowdown of {known} is known, and that of {slow} is {} or more", times(SLOW))
    };
    let take = if runs == 1 { "takes" } else { "take" };
    format!("{} that {take} a tenth of a CPU; {known}", plural(runs, "program"))
}

fn remote(view: &View) -> String {
    let known = || {
        view.programs.iter().filter_map(|program| Some((program.remote?, program.pages.as_ref()?.iter().sum::<u64>())))
    };
    let all: u64 = known().map(|(_, pages)| pages).sum();
    if all == 0 {
        return "-".to_owned();
    }
    let float = isobar_model::num::float;
    let far: f64 = known().map(|(part, pages)| part * float(pages)).sum();
    format!(
        "{} of the pages of running programs are on nodes where their program does not run",
        percent(far / float(all))
    )
}

/// The commands to type next, each with its purpose.
fn next(view: &View, machine: Option<&str>) -> Vec<(String, &'static str)> {
    let on = machine.map(|machine| format!(" --machine {}", crate::text::plain(machine))).unwrap_or_default();
    let top = (format!("isobar top{on}"), "watch it: which programs slow down which, and where memory is");
    let recorded = machine.filter(|machine| !machine.starts_with("sim:")).map(crate::text::plain);
    let dry = match recorded {
        Some(file) => format!("isobar replay {file} --policy isobar"),
        None => format!("isobar manage --policy isobar --dry-run --for 60{on}"),
    };
    let dry = (dry, "what isobar would do, with reasons");
    match view.verdict.answer {
        Answer::Yes => vec![top, dry],
        Answer::No => vec![top, (format!("isobar doctor --for 60{on}"), "watch for longer, while programs are slow")],
        Answer::NotMeasurable => {
            let probe = ("isobar probe".to_owned(), "latency between nodes, which needs no counters");
            let several = view.nodes.len() > 1 && machine.is_none();
            [Some(top), several.then_some(probe)].into_iter().flatten().collect()
        }
    }
}
