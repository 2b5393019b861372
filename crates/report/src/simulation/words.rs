//! A comparison in words.

use super::figures::{AcrossCell, Compared, PolicyRow, Simulation};

/// The policy that the others are compared with.
const BASE: &str = "linux";
/// A mean gain below this, in per cent, counts as none.
const WORTH: f64 = 0.5;

/// How the comparison was made.
pub fn facts(of: &Simulation) -> Vec<(String, String)> {
    let Some(one) = of.workloads.first() else { return Vec::new() };
    let runs = match (one.repeat, one.schedules) {
        (1, None) => "1 of each policy".to_owned(),
        (repeat, None) => format!("{repeat} of each policy"),
        (repeat, Some(schedules)) => format!("{repeat} of each policy from each of {schedules} starting schedules"),
    };
    let mut facts = vec![("runs".to_owned(), runs), ("first seed".to_owned(), one.seed.to_string())];
    facts.push(("programs".to_owned(), programs(of)));
    facts
}

fn programs(of: &Simulation) -> String {
    let counts: Vec<usize> = of.workloads.iter().filter_map(|one| Some(one.policies.first()?.apps.len())).collect();
    match (counts.iter().min(), counts.iter().max()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most}"),
        (_, most) => most.copied().unwrap_or_default().to_string(),
    }
}

/// The main results for a reader.
pub fn of(of: &Simulation) -> Vec<String> {
    match &of.workloads[..] {
        [one] => single(one),
        _ => several(of),
    }
}

fn single(one: &Compared) -> Vec<String> {
    let mut lines = Vec::new();
    let others: Vec<&PolicyRow> = one.policies.iter().filter(|row| row.policy != BASE).collect();
    let gains = || others.iter().filter_map(|row| Some((row.vs_linux_percent?, *row)));
    if let Some((gain, row)) = gains().max_by(|a, b| a.0.total_cmp(&b.0)) {
        lines.push(if gain > WORTH {
            format!("{} helps most: programs run {} than under linux{}.", row.policy, shorter(gain), sure(row))
        } else {
            format!("No policy helps: the best, {}, has programs run {} than under linux.", row.policy, shorter(gain))
        });
        let behind: Vec<&str> =
            gains().filter(|(gain, _)| *gain < -WORTH).map(|(_, row)| row.policy.as_str()).collect();
        if !behind.is_empty() {
            lines.push(format!("Slower than linux on average: {}.", behind.join(", ")));
        }
        lines.extend(loser(row));
    }
    lines.extend(fairest(one));
    lines.extend(suffering(one));
    lines
}

fn shorter(gain: f64) -> String {
    let word = if gain < 0.0 { "longer" } else { "shorter" };
    format!("{:.1} % {word}", gain.abs())
}

/// Says whether chance alone could explain the figure.
fn sure(row: &PolicyRow) -> &'static str {
    let spread = row.spread.get("vs_linux_percent").copied().flatten();
    let (Some(gain), Some(half)) = (row.vs_linux_percent, spread.and_then(|spread| spread.half_width_95)) else {
        return "";
    };
    if half > 0.0 && gain.abs() < half { ", which may be chance alone: more runs would show" } else { "" }
}

/// The program that pays for the others under the best policy.
fn loser(row: &PolicyRow) -> Option<String> {
    let gains = row.apps.iter().filter_map(|app| Some((app.vs_linux_percent?, app)));
    let (gain, app) = gains.min_by(|a, b| a.0.total_cmp(&b.0))?;
    (gain < -WORTH)
        .then(|| format!("Under {} {} fares worst: it runs {} than under linux.", row.policy, app.name, shorter(gain)))
}

fn fairest(one: &Compared) -> Option<String> {
    let row = one.policies.iter().min_by(|a, b| a.unfairness.total_cmp(&b.unfairness))?;
    let linux = one.policies.iter().find(|row| row.policy == BASE).filter(|linux| linux.policy != row.policy);
    let against = linux.map_or(String::new(), |linux| format!("; under linux {:.2} times", linux.unfairness));
    (one.policies.len() > 1).then(|| {
        format!(
            "{} is fairest: the program that is slowed down most is slowed down {:.2} times as much as the one that is least{against}.",
            row.policy, row.unfairness
        )
    })
}

fn suffering(one: &Compared) -> Option<String> {
    let row = one.policies.iter().find(|row| row.policy == BASE).or_else(|| one.policies.first())?;
    let app = row.apps.iter().max_by(|a, b| a.slowdown.total_cmp(&b.slowdown))?;
    Some(format!(
        "Under {} {} suffers most: it takes {:.2} times as long as alone; the mean over all programs is {:.2}.",
        row.policy, app.name, app.slowdown, row.antt
    ))
}

fn several(of: &Simulation) -> Vec<String> {
    let mut all: Vec<_> = of.all.iter().collect();
    all.sort_by(|a, b| b.mean_percent.total_cmp(&a.mean_percent));
    let line = |cell: &&AcrossCell| {
        let wins = of
            .across
            .iter()
            .filter(|row| row.cells.iter().any(|other| other.policy == cell.policy && other.mean_percent > WORTH));
        let worst = cell.worst_workload.as_ref().map_or(String::new(), |workload| {
            format!("; the program that fares worst, in {workload}, runs {}", shorter(cell.worst_percent))
        });
        format!(
            "{}: programs run {} than under linux over all workloads; it helps in {} of {}{worst}.",
            cell.policy,
            shorter(cell.mean_percent),
            wins.count(),
            of.across.len()
        )
    };
    all.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use crate::{Head, Simulation};
    use serde_json::{Value, json};

    fn row(policy: &str, gain: f64, half: f64, slowdowns: [f64; 2]) -> Value {
        let app = |(name, slowdown): (&str, f64)| {
            json!({"name": name, "alone_seconds": 10.0, "seconds": 10.0 * slowdown, "slowdown": slowdown,
                "vs_linux_percent": if name == "b" { -3.0 } else { gain }, "slowdown_spread": null})
        };
        let apps: Vec<Value> = [("a", slowdowns[0]), ("b", slowdowns[1])].into_iter().map(app).collect();
        json!({"policy": policy, "unfairness": slowdowns[0] / slowdowns[1], "stp": 1.5, "antt": 1.25, "unfairness_cov": 0.1,
            "seconds": 60.0, "thread_migrations": 2.0, "memory_migrations": 1.0, "pages_moved": 100.0, "vs_linux_percent": gain,
            "spread": {"vs_linux_percent": {"min": gain - 1.0, "max": gain + 1.0, "half_width_95": half}}, "apps": apps, "more": 1})
    }

    #[test]
    fn who_helps_who_pays_and_whether_that_is_sure() {
        let rows = [row("linux", 0.0, 0.0, [1.5, 1.0]), row("dino", 4.0, 6.0, [1.2, 1.03])];
        let document =
            json!({"seed": 1, "repeat": 2, "schedules": null, "policies": rows, "notes": ["as\u{202e}sumed"]});
        let read = Simulation::read(document, Head::default()).unwrap();
        let words = read.summary.join("\n");
        assert!(
            words
                .starts_with("dino helps most: programs run 4.0 % shorter than under linux, which may be chance alone"),
            "{words}"
        );
        assert!(words.contains("Under dino b fares worst: it runs 3.0 % longer than under linux."), "{words}");
        assert!(words.contains("Under linux a suffers most: it takes 1.50 times as long as alone"), "{words}");
        assert!(words.contains("Note: as\\u{202e}sumed"), "{words}");
        assert!(Simulation::read(json!({"policies": []}), Head::default()).is_err());
    }
}
