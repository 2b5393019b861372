//! Prints managed mixes for people, as plain text.

use super::compare::{Agreement, Both, Under};
use std::fmt::Write;

/// Writes all mixes under all regimes, and how well the machines agree.
pub fn write(text: &mut String, found: &[Under], agreement: &Agreement) {
    slowdowns(text, found);
    regimes(text, found);
    totals(text, agreement);
}

fn slowdowns(text: &mut String, found: &[Under]) {
    let _ = writeln!(
        text,
        "\n{:<26}{:<18}{:<14}{:>8}{:>10}{:>11}  reason",
        "managed mix", "regime", "program", "numasim", "simulator", "difference"
    );
    let mut last = "";
    for under in found {
        let mix = named_once(&mut last, &under.mix);
        for (at, row) in under.programs.iter().enumerate() {
            let (mix, regime) = if at == 0 { (mix, under.regime.as_str()) } else { ("", "") };
            let line = format!(
                "{mix:<26}{regime:<18}{:<14}{:>8.3}{:>10.3}{:>+9.1} %  {}",
                row.seat.to_string(),
                row.slowdown.numasim,
                row.slowdown.simulator,
                row.slowdown.difference() * 100.0,
                row.reason.as_deref().unwrap_or_default()
            );
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
}

fn regimes(text: &mut String, found: &[Under]) {
    let _ = writeln!(
        text,
        "\n{:<26}{:<18}{:>19}{:>19}{:>19}{:>19}",
        "managed mix", "regime", "over linux", "remote", "MiB moved", "thread moves"
    );
    let mut last = "";
    for under in found {
        let mix = named_once(&mut last, &under.mix);
        let _ = writeln!(
            text,
            "{mix:<26}{:<18}{}{}{}{}",
            under.regime,
            pair(each(under.over_linux, |value| format!("{value:.3}"))),
            pair(of(&under.remote_share, |share| format!("{:.1} %", share * 100.0))),
            pair([under.mib_moved.numasim, under.mib_moved.simulator].map(|mib| format!("{mib:.0}"))),
            pair(of(&under.thread_moves, |moves| moves.to_string())),
        );
    }
    text.push_str("Each pair: numasim, simulator. MiB of the real machine.\n");
}

/// The name of a mix in the first of its lines, and nothing in the lines that follow.
pub(crate) fn named_once<'a>(last: &mut &'a str, mix: &'a str) -> &'a str {
    if std::mem::replace(last, mix) == mix { "" } else { mix }
}

fn totals(text: &mut String, agreement: &Agreement) {
    let Agreement { rows: [rows, near], mean_difference, verdicts: [verdicts, same], .. } = agreement;
    let _ = write!(text, "\nmanaged: mean absolute difference {:.1} %, {near} of {rows} rows", mean_difference * 100.0);
    text.push_str(" within 10 %");
    if let Some(apart) = agreement.ratio_difference {
        let ranks = agreement.rank_correlation.map_or_else(|| "-".to_owned(), |ranks| format!("{ranks:.3}"));
        let _ = write!(
            text,
            "\npolicies over linux: differ by {:.1} % on average, rank correlation {ranks}; on {same} of {verdicts} \
             the machines agree\nwhether the policy is ahead, level (within 2 %) or behind",
            apart * 100.0
        );
    }
    text.push('\n');
}

fn pair([numasim, simulator]: [String; 2]) -> String {
    format!("{numasim:>10}{simulator:>9}")
}

fn each<T>(both: Option<Both<T>>, shown: impl Fn(T) -> String) -> [String; 2] {
    let both = both.map(|both| [both.numasim, both.simulator].map(&shown));
    both.unwrap_or_else(|| ["-".to_owned(), "-".to_owned()])
}

fn of<T: Copy>(both: &Both<Option<T>>, shown: impl Fn(T) -> String) -> [String; 2] {
    [both.numasim, both.simulator].map(|value| value.map_or_else(|| "-".to_owned(), &shown))
}

#[cfg(test)]
mod tests {
    use super::super::compare::{Row, agreement};
    use super::*;

    #[test]
    fn a_table_has_both_machines_side_by_side() {
        let under = |regime: &str, slowdown: [f64; 2], over_linux| Under {
            mix: "wrong node".to_owned(),
            regime: regime.to_owned(),
            programs: vec![Row {
                seat: "chase@4:0".parse().unwrap(),
                slowdown: Both { numasim: slowdown[0], simulator: slowdown[1] },
                reason: None,
            }],
            remote_share: Both { numasim: Some(0.25), simulator: None },
            mib_moved: Both { numasim: 64.0, simulator: 63.6 },
            thread_moves: Both { numasim: Some(3), simulator: Some(1) },
            over_linux,
        };
        let gain = Both { numasim: 0.9, simulator: 0.95 };
        let found = [under("linux", [1.5, 1.5], None), under("dino", [1.35, 1.425], Some(gain))];
        let mut text = String::new();
        write(&mut text, &found, &agreement(&found).unwrap());
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        let line = |from: &[&str]| lines.iter().any(|line| line.starts_with(from));
        assert!(line(&["wrong", "node", "linux", "chase@4:0", "1.500", "1.500", "+0.0", "%"]), "{text}");
        assert!(line(&["dino", "0.900", "0.950", "25.0", "%", "-", "64", "64", "3", "1"]), "{text}");
        assert!(text.contains("on 1 of 1 the machines agree"), "{text}");
    }
}
