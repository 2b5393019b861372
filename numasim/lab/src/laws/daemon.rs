//! Law "daemon". A program that the guest has marked as a daemon (`numasim-ctl daemon`) runs at the
//! real machine's speed, `time_scale` times as fast as a program. A program that runs after the
//! daemon does not. A daemon that times lines that it has flushed measures the modelled machine's
//! latency.

use super::places::Places;
use super::plan;
use super::reading::Readings;
use super::row::{Bound, Row};
use super::script::Step;
use numasim_model::Spec;
use numasim_model::num::{float, round};

/// A quarter of the seconds that a program computes, approximately.
const SECONDS: f64 = 0.1;
const RATE: &str = "million_steps_per_second";

/// The steps of the law.
pub fn steps(spec: &Spec, places: &Places) -> Vec<Step> {
    let (cpu, node) = (places.cpus[0], places.node);
    // A step of four lanes takes about ten instructions.
    let work = 4 * round(SECONDS * 1e5 * spec.clock_mhz);
    let fast = round(float(work) * spec.time_scale);
    let size = plan::part(spec, places, 25);
    let probe = format!("numasim-ctl daemon probe --work 16384 --batch 16 --size-kib {size} --flush clflush");
    let each = [
        ("program", format!("cpu --work {work}")),
        ("daemon", format!("numasim-ctl daemon cpu --work {fast}")),
        ("after", format!("cpu --work {work}")),
        ("timing", probe),
    ];
    each.into_iter().flat_map(|(name, command)| plan::alone(name, cpu, node, command)).collect()
}

/// Judges the law; see the head of the file.
pub fn daemon(spec: &Spec, places: &Places, readings: &Readings) -> Vec<Row> {
    let times = |name: &str| Ok(readings.figure(name, RATE)? / readings.figure("program", RATE)?);
    let latency = spec.latency.ns[places.node][places.node];
    let row = |what: &str, unit: &'static str, expected: f64, bound, measured| {
        Row::new("daemon", what, unit, Ok(expected), bound, measured)
    };
    vec![
        row("a daemon's steps a second, over a program's", "", spec.time_scale, Bound::Within(0.05), times("daemon")),
        row("a program's after the daemon, over before", "", 1.0, Bound::Within(0.02), times("after")),
        row(
            "a daemon's probe, lines flushed: memory",
            "ns/load",
            latency,
            Bound::Within(0.1),
            readings.figure("timing", "ns_per_load"),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::row::Verdict;
    use super::super::test_kit;
    use super::*;

    /// Verdicts on these figures, with a time scale of 20 and memory at 1200 ns.
    fn verdicts(daemon: f64, after: f64, ns: f64) -> Vec<Verdict> {
        let spec = test_kit::spec();
        let line = |name: &str, key: &str, value: f64| format!("@line {name} {{\"{key}\":{value}}}\n");
        let text = [
            line("program", RATE, 9.0),
            line("daemon", RATE, daemon),
            line("after", RATE, after),
            line("timing", "ns_per_load", ns),
        ];
        let rows = super::daemon(&spec, &Places::of(&spec).unwrap(), &Readings::parse(&text.concat()));
        rows.iter().map(|row| row.verdict).collect()
    }

    #[test]
    fn twenty_times_the_speed_and_the_same_memory() {
        assert_eq!(verdicts(181.0, 9.0, 1200.0), [Verdict::Holds; 3]);
        assert_eq!(verdicts(9.0, 9.0, 1200.0), [Verdict::Fails, Verdict::Holds, Verdict::Holds]);
        assert_eq!(verdicts(180.0, 180.0, 60.0), [Verdict::Holds, Verdict::Fails, Verdict::Fails]);
    }
}
