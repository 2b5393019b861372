//! Draws what an expanded row shows below it: pages by node, harm, the last decision, threads.

use crate::canvas::{Canvas, TextRole};
use crate::text::short;
use isobar_model::text::ranges;
use isobar_model::{Bytes, num};
use isobar_view::words::{digits, gain, name, times};
use isobar_view::{Harm, LastAction, ProgramView, ThreadView, View};
use std::ops::Range;

/// Number of threads shown.
const THREADS: usize = 8;

/// The number of lines needed.
pub fn height(program: &ProgramView) -> usize {
    usize::from(program.group.is_some())
        + 3
        + program.last.as_ref().map_or(1, |_| 2)
        + program.threads.len().min(THREADS)
}

/// Draws into these rows of the screen; returns the row after them.
pub fn draw(program: &ProgramView, view: &View, canvas: &mut Canvas<'_>, rows: Range<u16>) -> u16 {
    let columns = usize::from(canvas.area.width).saturating_sub(4);
    let mut y = rows.start;
    for line in lines(program, view) {
        if y >= rows.end {
            break;
        }
        canvas.put(4, y, &short(&line, columns), TextRole::Dim);
        y += 1;
    }
    y
}

fn lines(program: &ProgramView, view: &View) -> Vec<String> {
    let mut lines: Vec<String> = program.group.iter().map(|group| format!("group  {}", name(group))).collect();
    lines.extend([pages(program, view), slow(program), harms(program)]);
    match &program.last {
        Some(last) => lines.extend(decision(last, view)),
        None => lines.push("no decision about it yet".to_owned()),
    }
    let mut threads: Vec<&ThreadView> = program.threads.iter().collect();
    threads.sort_by(|a, b| b.cpus.unwrap_or(0.0).total_cmp(&a.cpus.unwrap_or(0.0)).then(a.tid.cmp(&b.tid)));
    lines.extend(threads.iter().take(THREADS).map(|one| thread(one)));
    lines
}

fn pages(program: &ProgramView, view: &View) -> String {
    let Some(pages) = &program.pages else { return "pages by node: not measured".to_owned() };
    let all = num::float(pages.iter().sum::<u64>().max(1));
    let runs = |at: usize| program.runs_on.as_ref().and_then(|on| on.get(at)).copied().unwrap_or(0.0);
    let mut parts = Vec::new();
    for (at, (node, count)) in view.nodes.iter().zip(pages).enumerate() {
        if *count > 0 || runs(at) > 0.0 {
            let size = Bytes(count.saturating_mul(4096)).human();
            let part = 100.0 * num::float(*count) / all;
            parts.push(format!("node {}: {size} ({part:.0} %), runs {:.0} %", node.id, 100.0 * runs(at)));
        }
    }
    format!("pages  {}", parts.join("; "))
}

fn slow(program: &ProgramView) -> String {
    let Some(slowdown) = program.slowdown else { return "slowdown: not known".to_owned() };
    let others = program.contention.map(|one| format!(" = {} by others", times(one))).unwrap_or_default();
    let distance = program.distance.map(|one| format!(", {} by remote pages", times(one)));
    let from =
        if program.harmed_by.is_empty() { String::new() } else { format!("; from {}", list(&program.harmed_by)) };
    format!("slowdown  {}{others}{}{from}", times(slowdown), distance.unwrap_or_default())
}

fn harms(program: &ProgramView) -> String {
    match &program.harms[..] {
        [] if program.slowdown.is_some() => "slows no other program noticeably".to_owned(),
        [] => "which programs it slows: not known".to_owned(),
        harms => format!("slows  {}", list(harms)),
    }
}

fn list(harms: &[Harm]) -> String {
    let one = |harm: &Harm| format!("{} ({}) {:.1} %", name(&harm.name), harm.pid, harm.gain * 100.0);
    harms.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// What was decided last, and why.
pub fn decision(last: &LastAction, view: &View) -> [String; 2] {
    let ago = (view.time_seconds - last.time_seconds).max(0.0);
    let predicted = last.predicted.map(|part| format!("; predicted {}", gain(part))).unwrap_or_default();
    let measured = last.measured.map(|one| {
        let own = one.gain.map(gain).unwrap_or_else(|| format!("{} summed over all programs", gain(one.sum)));
        let kept = if one.kept { "kept" } else { "taken back" };
        let disturbed = if one.disturbed { ", programs came or went meanwhile" } else { "" };
        format!("; measured {own} (error {}{disturbed}): {kept}", gain(one.error).trim_start_matches('+'))
    });
    let (policy, words, became) = (&last.policy, &last.words, &last.became);
    let ids = ranges(last.ids.iter().map(|id| u32::try_from(id.0).unwrap_or(u32::MAX)));
    let ids = if ids.is_empty() { ids } else { format!("#{ids} ") };
    let measured = measured.unwrap_or_default();
    let first = format!("last  {ids}{ago:.0} s ago by {policy}: {words}: {became}{predicted}{measured}");
    [first, format!("why  {}", last.reason)]
}

fn thread(thread: &ThreadView) -> String {
    let known = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), digits);
    let cpu = thread.cpu.map_or_else(|| "-".to_owned(), |cpu| cpu.to_string());
    let place = thread.node.map(|node| format!(" (node {node})")).unwrap_or_default();
    let time = thread.cpus.map_or_else(|| "-".to_owned(), |cpus| format!("{:.0} %", cpus * 100.0));
    let pinned = if thread.pinned { "  pinned by its owner" } else { "" };
    format!(
        "thread {}  CPU {cpu}{place}  {time}  IPC {}  MPKI {}{pinned}",
        thread.tid,
        known(thread.ipc),
        known(thread.mpki)
    )
}
