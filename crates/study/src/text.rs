//! Rows as text: measures on one line, and below it every LLC as a drawing with one letter per way.
//! Plain text without colour, as wide as the terminal, at least 60 columns.

use crate::row::{AppRow, Row};
use isobar_model::text::{hanging, one_line};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Narrower output would not be legible.
const LEAST_WIDTH: usize = 60;
/// Letters for the clusters of an LLC; further clusters have none.
const LETTERS: &[u8; 52] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// A way that no program may fill.
const FREE: char = '.';
/// If bandwidth changes a program's slowdown by less than this, one figure is shown.
const FELT: f64 = 5e-4;

/// Draws rows one after the other; each workload is introduced once.
#[derive(Debug)]
pub struct Text {
    width: usize,
    workload: Option<usize>,
}

/// Explains the figures.
pub const LEGEND: &str = "\
slowdown: time / time alone, in brackets that from the share of the cache only;
a letter is a way of the LLC, and its cluster; unfairness: greatest / least
slowdown; STP: sum of 1/slowdown; ANTT: mean slowdown; CoV: standard deviation
of the slowdowns / their mean.
";

impl Text {
    /// Output for lines of `width` columns.
    #[must_use]
    pub fn new(width: usize) -> Self {
        Self { width: width.max(LEAST_WIDTH), workload: None }
    }

    /// A row as lines of text.
    pub fn row(&mut self, row: &Row) -> String {
        let mut text = String::new();
        if self.workload != Some(row.workload) {
            if self.workload.replace(row.workload).is_some() {
                text.push('\n');
            }
            let names: Vec<String> = row.apps.iter().map(|app| one_line(&app.name)).collect();
            let head = format!("workload {} (line {}): ", row.workload, row.line);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            text.push_str(&hanging(&head, &names, ", ", self.width));
        }
        measures(&mut text, row);
        if let Some(problem) = &row.problem {
            let words: Vec<&str> = problem.split(' ').collect();
            text.push_str(&hanging("    ", &words, " ", self.width));
        }
        (0..row.groups).for_each(|llc| self.llc(&mut text, row, llc));
        text
    }

    /// Draws one LLC: its ways, and below them its clusters.
    fn llc(&self, text: &mut String, row: &Row, llc: usize) {
        let mut clusters: BTreeMap<usize, Vec<&AppRow>> = BTreeMap::new();
        for app in row.apps.iter().filter(|app| app.llc == Some(llc)) {
            clusters.entry(app.cluster.unwrap_or_default()).or_default().push(app);
        }
        let ways = |apps: &[&AppRow]| apps.first().and_then(|app| app.ways).unwrap_or_default();
        if clusters.is_empty() {
            if row.apps.iter().any(|app| app.llc.is_some()) {
                let _ = writeln!(text, "    LLC {llc}  {}  no program", FREE.to_string().repeat(row.ways));
            }
            return;
        }
        let mut map: String =
            clusters.iter().map(|(number, apps)| letter(*number).to_string().repeat(ways(apps))).collect();
        let free = row.ways.saturating_sub(map.chars().count());
        map.extend(std::iter::repeat_n(FREE, free));
        let _ = writeln!(text, "    LLC {llc}  {map}");
        for (number, apps) in &clusters {
            let plural = if ways(apps) == 1 { " way " } else { " ways" };
            let head = format!("      {} {:>2}{plural}  ", letter(*number), ways(apps));
            let words: Vec<String> = apps.iter().map(|app| one(app)).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            text.push_str(&hanging(&head, &words, ", ", self.width));
        }
    }
}

fn measures(text: &mut String, row: &Row) {
    let _ = write!(text, "  {:<16}", row.algorithm);
    let all = &row.measures;
    if let Some(unfairness) = all.unfairness {
        let _ = write!(text, " unfairness {unfairness:.4}");
    }
    for (name, value) in [("STP", all.stp), ("ANTT", all.antt), ("CoV", all.unfairness_cov)] {
        if let Some(value) = value {
            let _ = write!(text, "  {name} {value:.3}");
        }
    }
    let _ = writeln!(text, "  {}", seconds(row.seconds));
    if let Some(objective) = row.objective.filter(|_| row.measures.stp.is_some()) {
        let standing = if row.proved_optimal {
            format!("proved: no {}", if objective == "stp" { "greater STP" } else { "less unfairness" })
        } else {
            let gap = row.gap_percent.map_or_else(String::new, |gap| format!(", at most {gap:.2} % from the best"));
            format!("not proved{gap}")
        };
        let plural = if row.nodes_explored == 1 { "" } else { "s" };
        let _ = writeln!(text, "    {standing}; {} node{plural} explored", thousands(&row.nodes_explored));
    }
}

fn one(app: &AppRow) -> String {
    let name = one_line(&app.name);
    match (app.slowdown, app.slowdown_without_bandwidth) {
        (Some(all), Some(cache)) if (all - cache).abs() < FELT => format!("{name} {all:.3}"),
        (Some(all), Some(cache)) => format!("{name} {all:.3} ({cache:.3})"),
        _ => name,
    }
}

fn letter(cluster: usize) -> char {
    LETTERS.get(cluster).map_or('#', |letter| char::from(*letter))
}

fn seconds(seconds: f64) -> String {
    match seconds {
        long if long >= 1.0 => format!("{long:.1} s"),
        middling if middling >= 1e-2 => format!("{:.0} ms", 1e3 * middling),
        short if short >= 1e-3 => format!("{:.1} ms", 1e3 * short),
        tiny => format!("{:.0} us", 1e6 * tiny),
    }
}

/// `1,234,567`.
#[must_use]
pub fn thousands(count: &impl ToString) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Measures;

    fn row() -> Row {
        let app = |name: &str, cluster, ways, slowdown: f64| AppRow {
            name: name.to_owned(),
            llc: Some(0),
            cluster: Some(cluster),
            ways: Some(ways),
            way_mask: None,
            slowdown: Some(slowdown),
            slowdown_without_bandwidth: Some(1.0),
        };
        Row {
            workload: 1,
            line: 3,
            algorithm: "lfoc+".to_owned(),
            model: "queueing",
            max_bandwidth_mbps: None,
            groups: 2,
            uma: false,
            cores: 2,
            ways: 8,
            objective: None,
            apps: vec![app("a", 0, 5, 1.25), app("b\u{1b}[2J", 1, 2, 1.0), app("c", 0, 5, 1.0)],
            measures: Measures { stp: Some(2.8), unfairness: Some(1.25), antt: Some(1.1), unfairness_cov: Some(0.1) },
            seconds: 0.0123,
            nodes_explored: 1_234_567,
            proved_optimal: true,
            bound: None,
            gap_percent: None,
            problem: None,
            remarks: Vec::new(),
        }
    }

    #[test]
    fn ways_are_drawn_and_programs_stand_beneath() {
        let mut text = Text::new(80);
        let drawn = text.row(&row());
        let expected = "workload 1 (line 3): a, b\\u{1b}[2J, c\n  lfoc+            unfairness 1.2500  STP \
                        2.800  ANTT 1.100  CoV 0.100  12 ms\n    \
                        LLC 0  AAAAABB.\n      A  5 ways  a 1.250 (1.000), c 1.000\n      B  2 \
                        ways  b\\u{1b}[2J 1.000\n    LLC 1  ........  no program\n";
        assert_eq!(drawn, expected);
        assert!(text.row(&row()).starts_with("  lfoc+"), "a workload is introduced once");
    }

    #[test]
    fn searches_say_what_is_proved() {
        let search = Row { objective: Some("unfairness"), ..row() };
        assert!(Text::new(80).row(&search).contains("    proved: no less unfairness; 1,234,567 nodes explored\n"));
        let cut = Row { proved_optimal: false, gap_percent: Some(1.234), ..search };
        assert!(Text::new(80).row(&cut).contains("not proved, at most 1.23 % from the best; 1,234,567 nodes"));
    }

    #[test]
    fn no_line_is_longer_than_asked() {
        let mut long = row();
        long.apps = (0..40).map(|index| AppRow { name: format!("program-{index}"), ..row().apps[0].clone() }).collect();
        long.problem = Some("a long story ".repeat(20));
        for width in [60, 80, 120] {
            let drawn = Text::new(width).row(&long);
            let longest =
                drawn.lines().filter(|line| !line.contains("unfairness")).map(|line| line.chars().count()).max();
            assert!(longest <= Some(width) && longest > Some(width / 2), "{drawn}");
        }
    }
}
