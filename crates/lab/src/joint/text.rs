//! The yardstick as plain text for people.

use super::found::{Joint, JointApp, JointWays};
use crate::text::short;
use isobar_model::metrics::Summary;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Maximum width at which a name is shown.
const NAME: usize = 18;
/// Maximum width at which a workload's name is shown.
const WORKLOAD: usize = 22;

/// The best arrangement of one workload: its measures and the place of everything.
#[must_use]
pub fn joint_table(joint: &Joint) -> String {
    let Summary { unfairness, stp, antt, unfairness_cov } = joint.summary;
    let mut text = format!(
        "\nThe best static arrangement of threads, pages and ways that was found, by the simulator's own\n\
         contention model, which policies cannot query: {}\n\n",
        sentence(joint)
    );
    let versus = joint.vs_linux_percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent:+.1} %"));
    let _ = writeln!(
        text,
        "ANTT {antt:.3}, lower bound {:.3}; unfairness {unfairness:.3}; STP {stp:.3}; CoV {unfairness_cov:.3}; \
         vs linux {versus}\n",
        joint.antt_bound
    );
    let _ =
        writeln!(text, "{:<NAME$}{:>9}{:>10}  {:<14}{:<17}ways", "application", "slowdown", "vs linux", "llc", "pages");
    for app in &joint.apps {
        let versus = app.vs_linux_percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent:+.1} %"));
        let (name, llcs) = (short(&app.name, NAME - 1), llcs(&app.llcs));
        let line = format!("{name:<NAME$}{:>9.3}{versus:>10}  {llcs:<14}{:<17}{}", app.slowdown, app.pages, ways(app));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// The best arrangements of several workloads, each with its name and the mean slowdown under
/// `linux`.
#[must_use]
pub fn joints_table(joints: &[(String, f64, Joint)]) -> String {
    let mut text = "\nThe best static arrangement of threads, pages and ways that was found, by the\n\
                    contention model. ANTT: its mean slowdown; bound: no arrangement is below it;\n\
                    gap: from bound to ANTT, in %; vs linux: mean gain, in brackets the worst.\n\n"
        .to_owned();
    let width = joints.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0).clamp(8, WORKLOAD);
    let _ = writeln!(
        text,
        "{:<width$}{:>8}{:>8}{:>8}{:>8}{:>17}  optimum",
        "workload", "linux", "ANTT", "bound", "gap", "vs linux"
    );
    for (name, linux, joint) in joints {
        let worst = joint.apps.iter().filter_map(|app| app.vs_linux_percent).fold(f64::INFINITY, f64::min);
        let gain = joint.vs_linux_percent.map_or_else(|| "-".to_owned(), |mean| format!("{mean:+.1} ({worst:+.1})"));
        let _ = writeln!(
            text,
            "{:<width$}{linux:>8.3}{:>8.3}{:>8.3}{:>8.1}{gain:>17}  {}",
            short(name, width),
            joint.summary.antt,
            joint.antt_bound,
            joint.gap_percent,
            if joint.proved_optimal { "proved" } else { "bounded" }
        );
    }
    text
}

fn sentence(joint: &Joint) -> String {
    let ended = if joint.stopped { ", stopped at the time limit" } else { "" };
    if joint.exhausted {
        return format!("proved, all {} arrangements were evaluated.", joint.questions);
    }
    if joint.proved_optimal {
        return "proved, no arrangement has a lower mean slowdown.".to_owned();
    }
    format!(
        "no arrangement has a mean\nslowdown more than {:.1} % lower ({} evaluations{ended}).",
        lower(joint),
        joint.questions
    )
}

/// How much lower a mean slowdown at the bound would be, in per cent of the one found.
fn lower(joint: &Joint) -> f64 {
    100.0 * (1.0 - joint.antt_bound / joint.summary.antt)
}

/// Caches with the threads on each: `0`, or `0 x2, 1`.
fn llcs(all: &[u32]) -> String {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    all.iter().for_each(|llc| *counts.entry(*llc).or_default() += 1);
    let one = |(llc, count): (u32, usize)| if count == 1 { llc.to_string() } else { format!("{llc} x{count}") };
    counts.into_iter().map(one).collect::<Vec<_>>().join(", ")
}

fn ways(app: &JointApp) -> String {
    let one = |ways: &JointWays| {
        let others = ways.shared_with.join(", ");
        let with = if others.is_empty() { String::new() } else { format!(" with {others}") };
        let of = if app.ways.len() > 1 { format!("llc {}: ", ways.llc) } else { String::new() };
        format!("{of}{}{with}", ways.ways)
    };
    app.ways.iter().map(one).collect::<Vec<_>>().join("; ")
}
