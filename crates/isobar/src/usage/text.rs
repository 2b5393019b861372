//! A report for people: how the program uses its pages, and what to do about it.

use super::ReportDocument;
use super::bars::bar;
use crate::text::{aligned, padded, plain, plural, short, width};
use isobar_model::num;
use isobar_pages::report::{Advice, Linux, PolicyReport, Report, Sharing, StructureUse, joined};

/// The name of the row that shows what the kernel did.
const LINUX: &str = "linux (observed)";
/// Length of the bars, in characters.
const BAR: usize = 20;
/// Maximum number of structures that are listed, and the least share of all accesses for that, in
/// per cent.
const STRUCTURES: usize = 12;
const LISTED: f64 = 0.05;
/// Maximum length of a structure's name, in characters.
const NAME: usize = 28;
/// On a terminal narrower than this, structures have no bars and shorter names.
const WIDE: usize = 90;
/// The narrowest and the widest text, in columns.
const WIDTHS: (usize, usize) = (76, 100);

/// The whole report; no line is wider than the terminal allows.
pub fn lines(shown: &ReportDocument<'_>, columns: usize) -> Vec<String> {
    let report = shown.report;
    let columns = columns.clamp(WIDTHS.0, WIDTHS.1);
    let mut lines = head(shown, columns);
    if report.accesses > 0 && report.nodes > 1 {
        lines.push(String::new());
        lines.extend(figures(report, columns));
    }
    if report.accesses > 0 {
        section(&mut lines, "By structure", structures(shown, columns));
    }
    if report.accesses > 0 && report.nodes > 1 {
        section(&mut lines, "Mappings of pages to nodes", mappings(shown, columns));
        section(&mut lines, "mixed, by the exclusivity above which a page counts as exclusive", sweep(report));
    }
    section(&mut lines, "Which mapping suits", advice(shown.advice, columns));
    section(&mut lines, "How to get it", steps(shown.advice, columns));
    lines
}

fn section(lines: &mut Vec<String>, title: &str, body: Vec<String>) {
    if !body.is_empty() {
        lines.extend([String::new(), title.to_owned()]);
        lines.extend(body);
    }
}

fn head(shown: &ReportDocument<'_>, columns: usize) -> Vec<String> {
    let ReportDocument { report, profile, .. } = shown;
    let pages = plural(u64::try_from(report.pages).unwrap_or(u64::MAX), "page");
    let (page, all) = (size(report.page_bytes.into()), size(report.bytes()));
    let what = if profile.header.sampled.is_some() { "sampled accesses" } else { "accesses" };
    let text = format!(
        "{}: {pages} of {page} ({all}), {} {what} by {}, on {}",
        plain(shown.name),
        grouped(report.accesses),
        plural(report.threads as u64, "thread"),
        plural(report.nodes as u64, "node")
    );
    let mut lines = wrapped(&text, columns, "");
    if !profile.header.command.is_empty() {
        let engine = if profile.header.engine.is_empty() {
            String::new()
        } else {
            format!(", recorded by {}", profile.header.engine)
        };
        lines.push(short(&format!("Command: {}{engine}", profile.header.command.join(" ")), columns));
    }
    if report.untouched > 0 {
        let were = if report.untouched == 1 { "was" } else { "were" };
        lines.push(format!("{} of these pages {were} never accessed.", report.untouched));
    }
    shown.remarks.iter().for_each(|remark| lines.extend(wrapped(&format!("Note: {}", plain(remark)), columns, "  ")));
    lines
}

/// How exclusive, balanced, local and dynamic the accesses are.
fn figures(report: &Report, columns: usize) -> Vec<String> {
    let first = report.policy("first-touch");
    let even = num::float_len(report.nodes.saturating_sub(1).max(1)) * 100.0;
    let balance = first.and_then(|first| first.metrics.b_acc);
    let local = first.and_then(|first| first.remote).map(|remote| 100.0 - remote);
    let mut lines = Vec::new();
    let mut row = |name: &str, figure: Option<f64>, full: f64, what: &str| {
        let number = figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.0} %"));
        let drawn = padded(&bar(figure.unwrap_or(0.0) / full, BAR), BAR, true);
        lines.push(format!("{name:<11}{number:>6}  {drawn}  {}", short(what, columns.saturating_sub(41))));
    };
    row("Exclusive", report.exclusivity.map(|part| part * 100.0), 100.0, "of accesses come from one node");
    row("Imbalance", balance, even, &format!("first touch; 0: even, {even:.0}: all on one"));
    row("Local", local, 100.0, "of the accesses, with first touch");
    lines.push(short(&dynamic(report), columns));
    lines
}

fn dynamic(report: &Report) -> String {
    match (&report.course, report.dynamicity) {
        (Some(course), Some(rate)) => {
            let whole = num::round(rate);
            let drawn = sparkline(&course.points.iter().map(|point| num::float(point.migrations)).collect::<Vec<_>>());
            format!("{:<11}{whole:>6}  {drawn}  pages per second change their main node", "Dynamic")
        }
        _ => format!("{:<11}{:>6}  not measured: the file has no time slices", "Dynamic", "-"),
    }
}

/// A sparkline of at most [`BAR`] bars. Each bar is the mean of a part of the consecutive figures.
fn sparkline(figures: &[f64]) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let parts = figures.len().min(BAR);
    let part = |at: usize| &figures[at * figures.len() / parts..(at + 1) * figures.len() / parts];
    let means: Vec<f64> =
        (0..parts).map(|at| part(at).iter().sum::<f64>() / num::float_len(part(at).len().max(1))).collect();
    let most = means.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let height = |mean: &f64| HEIGHTS[num::split(mean / most * 7.99).0.min(7)];
    padded(&means.iter().map(height).collect::<String>(), BAR, true)
}

fn structures(shown: &ReportDocument<'_>, columns: usize) -> Vec<String> {
    let report = shown.report;
    let all = joined(&report.structures, report.min_excl);
    let listed = all.iter().take_while(|one| one.percent.is_some_and(|percent| percent >= LISTED));
    let listed = listed.count().clamp(1, STRUCTURES);
    let mut rows = vec![["structure", "pages", "accesses", "", "used", "first touched by"].map(str::to_owned).to_vec()];
    rows.extend(all.iter().take(listed).map(|one| structure(one, shown, columns)));
    let mut lines = indented(&aligned(&rows, &[0, 3, 4, 5]), columns);
    let rest = all.get(listed..).unwrap_or_default();
    if !rest.is_empty() {
        let percent: f64 = rest.iter().filter_map(|one| one.percent).sum();
        lines.push(format!("  and {} more with {percent:.1} % of the accesses (--json has all)", rest.len()));
    }
    lines
}

fn structure(one: &StructureUse, shown: &ReportDocument<'_>, columns: usize) -> Vec<String> {
    let used = match (one.sharing(shown.report.min_excl), one.exclusivity) {
        (Sharing::Exclusive, Some(part)) => format!("exclusive ({:.0} %)", part * 100.0),
        (Sharing::MostlyExclusive, Some(part)) => format!("mostly exclusive ({:.0} %)", part * 100.0),
        (Sharing::Shared, Some(part)) => format!("shared ({:.0} %)", part * 100.0),
        _ => "not used".to_owned(),
    };
    let percent = one.percent.unwrap_or(0.0);
    vec![
        short(&one.name, if columns < WIDE { NAME / 2 + 4 } else { NAME }),
        one.pages.to_string(),
        format!("{percent:.1} %"),
        if columns < WIDE { String::new() } else { padded(&bar(percent / 100.0, BAR / 2), BAR / 2, true) },
        used,
        first(one, shown),
    ]
}

/// Which thread touched it first, and how much of its accesses are remote then.
fn first(one: &StructureUse, shown: &ReportDocument<'_>) -> String {
    let name = |thread: u32| {
        let name = shown.profile.threads.get(num::index(thread));
        name.map_or_else(|| format!("T{thread}"), |name| short(name, 12))
    };
    let by = match one.first_thread() {
        Some(thread) => name(thread),
        None if one.first.len() <= 3 => {
            one.first.iter().map(|(thread, _)| name(*thread)).collect::<Vec<_>>().join(", ")
        }
        None => plural(one.first.len() as u64, "thread"),
    };
    match one.remote.filter(|_| shown.report.nodes > 1) {
        Some(remote) => format!("{by}, {remote:.0} % remote"),
        None => by,
    }
}

fn mappings(shown: &ReportDocument<'_>, columns: usize) -> Vec<String> {
    let head = ["", "pages", "accesses", "change", "pages", "accesses", "change", "remote"];
    let above = "                    imbalance, %             on best node, %     accesses, %";
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(shown.report.policies.iter().map(|policy| mapping(policy, shown.advice)));
    rows.push(observed(shown.report.linux.as_ref().ok()));
    let mut lines = vec![above.to_owned()];
    lines.extend(indented(&aligned(&rows, &[0]), usize::MAX));
    lines.push("  change: against first-touch; *: suits this program".to_owned());
    lines.extend(wrapped(&format!("{LINUX}: {}", observation(shown.report)), columns, "  "));
    lines
}

/// Where the kernel actually had the pages; dashes if that is not known.
fn observed(linux: Option<&Linux>) -> Vec<String> {
    let number = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.1}"));
    let delta = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:+.1}"));
    let metrics = linux.map(|linux| &linux.metrics);
    vec![
        LINUX.to_owned(),
        number(metrics.and_then(|metrics| metrics.b_pages)),
        number(metrics.and_then(|metrics| metrics.b_acc)),
        delta(linux.and_then(|linux| linux.delta_b_acc)),
        number(metrics.and_then(|metrics| metrics.loc_pages)),
        number(metrics.and_then(|metrics| metrics.loc_app)),
        delta(linux.and_then(|linux| linux.delta_loc_app)),
        number(linux.and_then(|linux| linux.remote)),
    ]
}

/// What the row of the kernel is based on, or why there is none.
fn observation(report: &Report) -> String {
    let linux = match &report.linux {
        Err(why) => return format!("not known: {why}."),
        Ok(linux) => linux,
    };
    let known = num::float_len(linux.pages) / num::float_len(report.pages.max(1)) * 100.0;
    let accesses = linux.accesses_percent.unwrap_or(0.0);
    let of =
        format!("of the {known:.0} % of the pages ({accesses:.0} % of the accesses) whose node the kernel reported");
    let machine = match linux.machine_nodes {
        1 => "the program was traced on a machine with one node, so that all of them are on node 0".to_owned(),
        nodes => format!("the program was traced on a machine with {nodes} nodes"),
    };
    format!("{of}; {machine}. Its threads count as on the nodes of --threads-to-nodes.")
}

fn mapping(policy: &PolicyReport, advice: &Advice) -> Vec<String> {
    let number = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.1}"));
    let delta = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:+.1}"));
    let (metrics, name) = (&policy.metrics, policy.mapping.name());
    let marked = if advice.policy == Some(name) { format!("{name} *") } else { name.to_owned() };
    vec![
        marked,
        number(metrics.b_pages),
        number(metrics.b_acc),
        delta(policy.delta_b_acc),
        number(metrics.loc_pages),
        number(metrics.loc_app),
        delta(policy.delta_loc_app),
        number(policy.remote),
    ]
}

fn sweep(report: &Report) -> Vec<String> {
    if report.sweep.is_empty() {
        return Vec::new();
    }
    let number = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.1}"));
    let most = report.sweep.iter().filter_map(|point| point.b_acc).fold(f64::MIN_POSITIVE, f64::max);
    let drawn = |part: f64| padded(&bar(part, BAR), BAR, true);
    let mut rows = vec![["min_excl", "imbalance", "", "local", ""].map(str::to_owned).to_vec()];
    rows.extend(report.sweep.iter().map(|point| {
        vec![
            format!("{:.0} %", point.min_excl_percent),
            number(point.b_acc),
            drawn(point.b_acc.unwrap_or(0.0) / most),
            number(point.loc_app),
            drawn(point.loc_app.unwrap_or(0.0) / 100.0),
        ]
    }));
    indented(&aligned(&rows, &[2, 4]), usize::MAX)
}

fn advice(advice: &Advice, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut reasons = advice.reasons.clone();
    if let (Some(policy), Some(first)) = (advice.policy, reasons.first_mut()) {
        *first = format!("{policy}: {first}");
    }
    for paragraph in reasons.iter().chain(&advice.cost) {
        lines.extend(wrapped(paragraph, columns, "  "));
    }
    for caution in &advice.cautions {
        lines.extend(wrapped(&format!("But: {caution}"), columns, "  "));
    }
    lines
}

fn steps(advice: &Advice, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, step) in advice.steps.iter().enumerate() {
        let mut text = wrapped(&format!("{}. {}", number + 1, plain(&step.what)), columns, "     ");
        if let Some(first) = text.first_mut() {
            *first = format!("  {}", first.trim_start());
        }
        lines.extend(text);
        lines.extend(step.command.iter().map(|command| format!("       {}", plain(command))));
    }
    lines
}

fn indented(lines: &[String], columns: usize) -> Vec<String> {
    lines.iter().map(|line| short(&format!("  {line}"), columns)).collect()
}

/// A paragraph in lines of at most this width, each behind an indent.
fn wrapped(text: &str, columns: usize, indent: &str) -> Vec<String> {
    let mut lines = vec![indent.to_owned()];
    // A number stays with its per cent sign.
    let text = text.replace(" %", "\u{a0}%");
    for word in text.split(' ') {
        let fits = |line: &String| width(line) + 1 + width(word) <= columns;
        match lines.last_mut() {
            Some(line) if line.trim().is_empty() => line.push_str(word),
            Some(line) if fits(line) => *line += &format!(" {word}"),
            _ => lines.push(format!("{indent}{word}")),
        }
    }
    lines.iter().map(|line| line.replace('\u{a0}', " ")).collect()
}

/// `14,176,584`.
fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `4 KiB`, `1.5 GiB`.
fn size(bytes: u128) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let step = (1..UNITS.len()).take_while(|step| bytes >> (10 * (step + 1)) > 0).last().unwrap_or(0);
    let tenths = (bytes * 10) >> (10 * (step + 1));
    let (whole, rest) = (tenths / 10, tenths % 10);
    if rest == 0 { format!("{whole} {}", UNITS[step]) } else { format!("{whole}.{rest} {}", UNITS[step]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_numbers_are_readable() {
        assert_eq!([size(4096), size(2 << 20), size(3 << 29)], ["4 KiB", "2 MiB", "1.5 GiB"]);
        assert_eq!([size(512), size(57_344), size(u128::MAX >> 10)][..2], ["0.5 KiB", "56 KiB"]);
        assert_eq!([grouped(1), grouped(999), grouped(14_176_584)], ["1", "999", "14,176,584"]);
    }

    #[test]
    fn paragraphs_keep_to_their_width() {
        let lines = wrapped("one two three four", 9, "  ");
        assert_eq!(lines, ["  one two", "  three", "  four"]);
        assert_eq!(sparkline(&[0.0, 1.0, 2.0]).trim_end(), "▁▄█");
    }
}
