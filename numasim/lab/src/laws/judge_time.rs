//! Law 8: CPUs run side by side, so the same computation takes the same guest time on 1, 2, 4 ...
//! CPUs; and a sleep takes as long as it was asked to. The sleep is measured as the difference of
//! two sleeps, because starting a program takes time as well.

use super::places::Places;
use super::plan;
use super::reading::Readings;
use super::row::{Bound, Row};
use numasim_model::Spec;
use numasim_model::num::float;

const HUNDREDTH: Bound = Bound::Within(0.01);

/// Judges the law; see the head of the file.
pub fn time(spec: &Spec, _places: &Places, readings: &Readings) -> Vec<Row> {
    let slowest = |crowd: usize| {
        let times = (0..crowd).map(|cpu| readings.figure(&plan::member(crowd, cpu), "seconds"));
        let times = times.collect::<Result<Vec<_>, _>>();
        times.map(|times| times.into_iter().fold(0.0, f64::max))
    };
    let rows = plan::crowds(spec).into_iter().skip(1).map(|crowd| {
        let what = format!("cpu on {crowd} CPUs at once: the slowest");
        Row::new("time", what, "s", slowest(1), HUNDREDTH, slowest(crowd))
    });
    let mut rows: Vec<Row> = rows.collect();
    let slept = |name| readings.between(name).map(|delta| float(delta.time_ns) / 1e9);
    let second = || Ok(slept("sleep")? - slept("nap")?);
    rows.push(Row::new("time", "sleep 1.1 less sleep 0.1", "s", Ok(1.0), HUNDREDTH, second()));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::row::Verdict;
    use crate::laws::test_kit;
    use numasim_guest::counters::Counters;

    fn rows(slow: f64, slept: u64) -> Vec<Row> {
        let spec = test_kit::spec();
        let mut text = String::new();
        for crowd in plan::crowds(&spec) {
            for cpu in 0..crowd {
                let seconds = if cpu == 3 { slow } else { 0.25 };
                text += &format!("@line {} {{\"seconds\":{seconds}}}\n", plan::member(crowd, cpu));
            }
        }
        for (label, time) in [("nap", 0), ("nap.end", 130), ("sleep", 200), ("sleep.end", 200 + slept)] {
            text += &test_kit::look(label, &Counters { time_ns: time * 1_000_000, ..Counters::default() });
        }
        time(&spec, &Places::of(&spec).unwrap(), &Readings::parse(&text))
    }

    /// 1130 ms less a nap of 130 ms are one second. The fourth CPU may be 1 % late.
    #[test]
    fn one_late_cpu_is_seen() {
        let verdicts = |slow, slept| rows(slow, slept).iter().map(|row| row.verdict).collect::<Vec<_>>();
        assert_eq!(verdicts(0.2524, 1130), [Verdict::Holds; 3]);
        assert_eq!(verdicts(0.26, 1130), [Verdict::Holds, Verdict::Fails, Verdict::Holds]);
        assert_eq!(verdicts(0.25, 1200), [Verdict::Holds, Verdict::Holds, Verdict::Fails]);
    }
}
