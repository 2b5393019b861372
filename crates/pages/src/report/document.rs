//! A report as one JSON document. Percentages range from 0 to 100, `exclusivity` and `min_excl` are
//! fractions of 1 as in equations 1 and 2, and what was not measured is null.

use super::{Advice, Course, Linux, Point, PolicyReport, Report, Sharing, StructureUse, SweepPoint};
use crate::metrics::Metrics;
use crate::profile::PageProfile;
use isobar_model::num;
use serde_json::{Map, Value, json};

/// A report, and the profile that it is about.
pub struct ReportDocument<'a> {
    /// The name of the file.
    pub name: &'a str,
    /// The profile that was read.
    pub profile: &'a PageProfile,
    /// The report on it.
    pub report: &'a Report,
    /// Which mapping suits the program.
    pub advice: &'a Advice,
    /// What the file lacks, one sentence each.
    pub remarks: &'a [String],
}

/// The document.
#[must_use]
pub fn document(shown: &ReportDocument<'_>) -> Value {
    let ReportDocument { profile, report, remarks, name, .. } = shown;
    json!({
        "file": name,
        "engine": profile.header.engine,
        "sampled": profile.header.sampled,
        "command": profile.header.command,
        "pages": report.pages,
        "page_bytes": report.page_bytes,
        "accesses": count(report.accesses),
        "threads": report.threads,
        "nodes": report.nodes,
        "min_excl": report.min_excl,
        "exclusivity": report.exclusivity,
        "exclusive_percent": report.exclusive_percent,
        "dynamicity": report.dynamicity,
        "untouched_pages": report.untouched,
        "hottest_page": report.hottest.map(|hot| json!({ "address": hot.address, "percent": hot.percent })),
        "policies": policies(report),
        "linux": report.linux.as_ref().ok().map(linux),
        "linux_missing": report.linux.as_ref().err().map(ToString::to_string),
        "advice": advice(shown.advice),
        "structures": report.structures.iter().map(|one| structure(one, report)).collect::<Vec<_>>(),
        "exclusivity_histogram": report.histogram.iter().map(|bar| count(*bar)).collect::<Vec<_>>(),
        "sweep": sweep(report),
        "slices": report.course.as_ref().map(course),
        "remarks": remarks,
    })
}

/// A sum; beyond 64 bits it is rounded to a float.
fn count(sum: u128) -> Value {
    u64::try_from(sum).map_or_else(|_| json!(wide(sum)), Value::from)
}

fn wide(sum: u128) -> f64 {
    let (high, low) = (u64::try_from(sum >> 64).unwrap_or(u64::MAX), u64::try_from(sum & u128::from(u64::MAX)));
    num::float(high) * 18_446_744_073_709_551_616.0 + num::float(low.unwrap_or(u64::MAX))
}

fn counts(sums: &[u128]) -> Vec<Value> {
    sums.iter().map(|sum| count(*sum)).collect()
}

fn policies(report: &Report) -> Map<String, Value> {
    report.policies.iter().map(|policy| (policy.mapping.name().to_owned(), policy_of(policy))).collect()
}

fn policy_of(policy: &PolicyReport) -> Value {
    Value::Object(mapped(&policy.metrics, policy.remote, (policy.delta_b_acc, policy.delta_loc_app)))
}

/// Where the kernel had placed the pages, over those pages whose node it reported.
fn linux(linux: &Linux) -> Value {
    let mut figures = Map::new();
    figures.insert("machine_nodes".to_owned(), linux.machine_nodes.into());
    figures.insert("pages".to_owned(), linux.pages.into());
    figures.insert("accesses_percent".to_owned(), linux.accesses_percent.into());
    figures.extend(mapped(&linux.metrics, linux.remote, (linux.delta_b_acc, linux.delta_loc_app)));
    Value::Object(figures)
}

/// How pages are spread over the nodes. `delta` is balance and locality minus those of first-touch.
fn mapped(metrics: &Metrics, remote: Option<f64>, delta: (Option<f64>, Option<f64>)) -> Map<String, Value> {
    let figures = [
        ("b_pages", metrics.b_pages.into()),
        ("b_acc", metrics.b_acc.into()),
        ("loc_pages", metrics.loc_pages.into()),
        ("loc_app", metrics.loc_app.into()),
        ("node_pages", counts(&metrics.node_pages).into()),
        ("node_accesses", counts(&metrics.node_accesses).into()),
        ("remote_percent", remote.into()),
        ("delta_b_acc", delta.0.into()),
        ("delta_loc_app", delta.1.into()),
    ];
    figures.map(|(name, figure): (&str, Value)| (name.to_owned(), figure)).into_iter().collect()
}

fn advice(advice: &Advice) -> Value {
    let steps = advice.steps.iter().map(|step| json!({ "what": step.what, "command": step.command }));
    json!({
        "policy": advice.policy,
        "reasons": advice.reasons,
        "cost_of_first_touch": advice.cost,
        "cautions": advice.cautions,
        "steps": steps.collect::<Vec<_>>(),
    })
}

fn structure(one: &StructureUse, report: &Report) -> Value {
    let first = one.first.iter().map(|(thread, pages)| json!({ "thread": thread, "pages": pages }));
    json!({
        "name": one.name,
        "line": one.line,
        "pages": one.pages,
        "accesses": count(one.accesses),
        "accesses_percent": one.percent,
        "exclusivity": one.exclusivity,
        "sharing": match one.sharing(report.min_excl) {
            Sharing::Exclusive => "exclusive",
            Sharing::MostlyExclusive => "mostly_exclusive",
            Sharing::Shared => "shared",
            Sharing::Unused => "unused",
        },
        "accesses_from_nodes": counts(&one.from_nodes),
        "first_touch": first.collect::<Vec<_>>(),
        "first_touch_remote_percent": one.remote,
    })
}

fn sweep(report: &Report) -> Value {
    if report.sweep.is_empty() {
        return Value::Null;
    }
    let point = |point: &SweepPoint| json!({ "min_excl_percent": point.min_excl_percent, "b_acc": point.b_acc, "loc_app": point.loc_app });
    report.sweep.iter().map(point).collect()
}

fn course(course: &Course) -> Value {
    let point = |point: &Point| {
        json!({
            "begin": point.begin,
            "migrations": point.migrations,
            "exclusivity": point.exclusivity,
            "accesses": count(point.accesses),
        })
    };
    json!({
        "count": course.slices,
        "slice_seconds": course.slice_seconds,
        "point_seconds": course.point_seconds,
        "seconds": course.seconds,
        "migrations": course.migrations,
        "restless_percent": course.restless_percent,
        "exclusivity": course.exclusivity,
        "points": course.points.iter().map(point).collect::<Vec<_>>(),
    })
}
