//! Prints a comparison for people, as plain text.

use crate::compare::Comparison;
use crate::managed;
use crate::managed::table::named_once;
use crate::reason::WORTH_A_REASON;
use crate::rows::Row;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The meaning of the words in the tables.
const LEGEND: &str = "Slowdown: time for the same work over the time alone with local memory and all ways. flight: \
                      misses in flight\ntogether; wb: lines written back for each fetched; fit err: the largest \
                      relative error of the simulator's law for a run\nalone.\n";

/// The whole report.
#[must_use]
pub fn text(found: &Comparison) -> String {
    let mut text = String::new();
    let Comparison { name, machine, time_scale, cache_scale, .. } = found;
    let _ =
        writeln!(text, "{name}: numasim and the simulator on {machine}, time x{time_scale}, caches /{cache_scale}\n");
    profiles(&mut text, found);
    if !found.rows.is_empty() {
        rows(&mut text, &found.rows);
        totals(&mut text, found);
    }
    if let Some(agreement) = &found.managed_agreement {
        managed::table::write(&mut text, &found.managed, agreement);
    }
    text.push_str(LEGEND);
    if !found.problems.is_empty() {
        text.push_str("\nDid not count:\n");
        found.problems.iter().for_each(|problem| _ = writeln!(text, "  {problem}"));
    }
    text
}

fn profiles(text: &mut String, found: &Comparison) {
    let _ = writeln!(
        text,
        "{:<12}{:>9}{:>8}{:>9}{:>10}{:>10}{:>8}{:>9}",
        "alone", "base CPI", "flight", "MPKI all", "half ways", "one way", "wb", "fit err"
    );
    for (name, one) in &found.profiles {
        let at = |ways: usize| one.mpki_by_ways.get(ways.max(1) - 1).copied().unwrap_or_default();
        let ways = one.mpki_by_ways.len();
        let _ = writeln!(
            text,
            "{name:<12}{:>9.3}{:>8.2}{:>9.2}{:>10.2}{:>10.2}{:>8.2}{:>7.1} %",
            one.base_cpi,
            one.mlp,
            at(ways),
            at(ways / 2),
            at(1),
            one.write_back,
            one.fit_error * 100.0
        );
    }
}

fn rows(text: &mut String, rows: &[Row]) {
    let _ = writeln!(
        text,
        "\n{:<30}{:<14}{:>8}{:>10}{:>11}  reason",
        "mix", "program", "numasim", "simulator", "difference"
    );
    let mut last = "";
    for row in rows {
        let mix = named_once(&mut last, &row.mix);
        let line = format!(
            "{mix:<30}{:<14}{:>8.3}{:>10.3}{:>+9.1} %  {}",
            row.seat.to_string(),
            row.steps.numasim,
            row.steps.simulator,
            row.difference * 100.0,
            row.reason.as_deref().unwrap_or_default()
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

fn totals(text: &mut String, found: &Comparison) {
    let shown = |value: Option<f64>, factor: f64, unit: &str| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{:.3}{unit}", value * factor))
    };
    let within = found.rows.iter().filter(|row| row.difference.abs() <= WORTH_A_REASON).count();
    let _ = writeln!(
        text,
        "\nmean absolute difference {}, {within} of {} rows within 10 %, rank correlation {}",
        shown(found.mean_difference, 100.0, " %"),
        found.rows.len(),
        shown(found.rank_correlation, 1.0, "")
    );
    if let Some([simulator, by_last_use]) = found.misses_apart {
        let (there, witness) = (simulator * 100.0, by_last_use * 100.0);
        let _ = writeln!(
            text,
            "misses differ by {there:.1} % in the simulator, by {witness:.1} % if lines stayed for a time after their \
             last use"
        );
    }
    let mut causes = BTreeMap::new();
    found.rows.iter().filter_map(|row| row.steps.cause()).for_each(|cause| *causes.entry(cause).or_insert(0) += 1);
    for (cause, count) in causes {
        let _ = writeln!(text, "  {count} of the others because of {}", format!("{cause:?}").to_lowercase());
    }
}
