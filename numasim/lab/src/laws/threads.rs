//! Law "threads": a thread is counted for what it did, whatever else runs on its CPU. A program
//! that computes and a program that misses with each load run alone, then together on one CPU. Each
//! must count together what it counted alone, and all threads must count what the CPUs counted.

use super::places::Places;
use super::plan::{self, end};
use super::reading::{Readings, Thread};
use super::row::{Bound, Row};
use super::script::{Program, Step};
use numasim_model::Spec;
use numasim_model::num::{float, round};

/// Seconds that the chase runs alone, approximately. The computing program runs four times as long.
const SECONDS: f64 = 0.1;
/// Names of the two programs, and of the phase in which both run.
const COMPUTES: &str = "cpu";
const MISSES: &str = "chase";
const BOTH: &str = "both";
/// Tolerance for ticks and switches, and for private caches that the two use in turns.
const SAME: f64 = 0.02;
/// Tolerance for the chase's instructions with the kernel's: it executes so few that the kernel's
/// ticks and switches show.
const WITH_KERNEL: f64 = 0.2;
/// Largest ratio of the computing program's misses to the chase's: the misses of its own start.
const AT_MOST: f64 = 0.1;
/// Bounds of the threads' instructions over the CPUs'. The rest belongs to CPUs that had nothing to
/// do. A look reads the CPUs first, and the threads a moment later.
const LEAST: f64 = 0.9;
const MOST: f64 = 1.02;

/// The steps of the law.
pub fn steps(spec: &Spec, places: &Places) -> Vec<Step> {
    let latency = spec.latency.ns[places.node][places.node];
    let size = plan::part(spec, places, 400);
    let computes = format!("cpu --work {}", 4 * round(SECONDS * 1e5 * spec.clock_mhz));
    let misses = format!("chase --size-kib {size} --work {}", round(SECONDS * 1e9 / latency));
    let begin = |name: &str, command: &str| {
        let (cpus, name) = (places.cpus[0].to_string(), name.to_owned());
        let program = Program { name: name.clone(), cpus, node: places.node, command: command.to_owned() };
        [Step::Start(program), Step::Ready(name)]
    };
    let measured = |label: &str, names: Vec<String>| {
        let ends = names.clone().into_iter().map(Step::Finish);
        let look = |label: String| Step::LookAtThreads(label);
        let steps = [look(label.to_owned()), Step::Go(names.clone()), Step::Await(names), look(end(label))];
        steps.into_iter().chain(ends).collect::<Vec<_>>()
    };
    let alone = [(COMPUTES, &computes), (MISSES, &misses)]
        .into_iter()
        .flat_map(|(name, command)| begin(name, command).into_iter().chain(measured(name, vec![name.to_owned()])));
    let [one, other] = [COMPUTES, MISSES].map(|name| format!("{name}{BOTH}"));
    let together = begin(&one, &computes).into_iter().chain(begin(&other, &misses));
    alone.chain(together).chain(measured(BOTH, vec![one, other])).collect()
}

/// Judges the law; see the head of the file.
pub fn threads(_: &Spec, _: &Places, readings: &Readings) -> Vec<Row> {
    let counted = |name, of: fn(&Thread) -> u64| alone_and_beside(readings, name, of);
    let ratio = |(alone, beside): (f64, f64)| beside / alone;
    let row = |what: &str, expected, bound, measured| Row::new("threads", what, "", Ok(expected), bound, measured);
    let instructions = |thread: &Thread| thread.instructions;
    let own = |thread: &Thread| thread.instructions.saturating_sub(thread.kernel_instructions);
    let misses = |thread: &Thread| thread.llc_misses;
    vec![
        row(
            "instructions of one that computes, beside a chase on its CPU, over alone",
            1.0,
            Bound::Within(SAME),
            counted(COMPUTES, instructions).map(ratio),
        ),
        row("the chase's instructions, too", 1.0, Bound::Within(WITH_KERNEL), counted(MISSES, instructions).map(ratio)),
        row(
            "the chase's own instructions, without the kernel's",
            1.0,
            Bound::Within(SAME),
            counted(MISSES, own).map(ratio),
        ),
        row("the chase's LLC misses, too", 1.0, Bound::Within(SAME), counted(MISSES, misses).map(ratio)),
        row(
            "LLC misses of the one that computes, over the chase's",
            AT_MOST,
            Bound::AtMost,
            counted(COMPUTES, misses).and_then(|(_, few)| Ok(few / counted(MISSES, misses)?.1)),
        ),
        row("instructions of all threads, over the CPUs'", LEAST, Bound::UpTo(MOST), of_all(readings)),
    ]
}

/// What the thread of a name counted alone, and what it counted beside the other.
fn alone_and_beside(readings: &Readings, name: &str, of: fn(&Thread) -> u64) -> Result<(f64, f64), String> {
    Ok((float(counted(readings, name, name, of)?), float(counted(readings, BOTH, name, of)?)))
}

/// What the thread of a name counted between two looks. Of several threads of that name that are in
/// both looks, it is the one that executed most, because those of earlier phases have ended.
fn counted(readings: &Readings, label: &str, name: &str, of: fn(&Thread) -> u64) -> Result<u64, String> {
    let before = readings.threads(label)?;
    let after = readings.threads(&end(label))?.iter().filter(|thread| thread.name == name);
    let old = |thread: &Thread| before.iter().find(|old| old.tid == thread.tid);
    let both = after.filter_map(|thread| Some((old(thread)?, thread)));
    let busiest = both.max_by_key(|(old, thread)| thread.instructions.saturating_sub(old.instructions));
    let (old, thread) = busiest.ok_or_else(|| format!("no thread `{name}` ran under `{label}`"))?;
    Ok(of(thread).saturating_sub(of(old)))
}

/// The threads' share of the CPUs' instructions, from before both programs start until they have
/// ended.
fn of_all(readings: &Readings) -> Result<f64, String> {
    let sum = |label: &str| -> Result<u64, String> {
        Ok(readings.threads(label)?.iter().map(|thread| thread.instructions).sum())
    };
    let threads = sum(&end(BOTH))?.saturating_sub(sum(BOTH)?);
    let cpus = readings.between(BOTH)?.cpus.iter().map(|cpu| cpu.instructions).sum();
    Ok(float(threads) / float(cpus))
}

#[cfg(test)]
mod tests {
    use super::super::row::Verdict;
    use super::super::test_kit;
    use super::*;
    use numasim_guest::counters::{Counters, Cpu};
    use serde_json::json;

    /// Verdicts if threads 5 and 6 first run alone, and then the two programs run beside each other
    /// and count these instructions, misses and instructions of the kernel. Meanwhile the page's
    /// only CPU counts `cpu` instructions.
    fn verdicts(computes: [u64; 3], misses: [u64; 3], cpu: u64) -> Vec<Verdict> {
        let spec = test_kit::spec();
        let look = |label: &str, time: u64, cpu: u64, threads: &[(u64, &str, [u64; 3])]| {
            let thread = |(tid, name, [all, misses, kernel]): &(u64, &str, [u64; 3])| json!({"tid": tid, "name": name, "instructions": all, "llc_misses": misses, "kernel_instructions": kernel});
            let cpus = vec![Cpu { instructions: cpu, ..Cpu::default() }];
            let mut page = json!(Counters { time_ns: time, cpus, ..Counters::default() });
            page["threads"] = threads.iter().map(thread).collect();
            format!("@threads {label} {page}\n")
        };
        let (old, both) = ((4, "cpu", [70, 7, 0]), [(8, "cpu", [10, 1, 0]), (9, "chase", [10, 1, 0])]);
        let plus = |[all, misses, kernel]: [u64; 3]| [all + 10, misses + 1, kernel];
        let text = [
            look("cpu", 1, 0, &[old, (5, "cpu", [100, 10, 10])]),
            look("cpu.end", 2, 0, &[old, (5, "cpu", [1100, 12, 10])]),
            look("chase", 3, 0, &[old, (6, "chase", [100, 10, 10])]),
            look("chase.end", 4, 0, &[old, (6, "chase", [500, 110, 20])]),
            look("both", 5, 0, &both),
            look("both.end", 6, cpu, &[(8, "cpu", plus(computes)), (9, "chase", plus(misses))]),
        ];
        let rows = threads(&spec, &Places::of(&spec).unwrap(), &Readings::parse(&text.concat()));
        rows.iter().map(|row| row.verdict).collect()
    }

    #[test]
    fn each_has_its_own_counts_and_all_have_what_there_was() {
        assert_eq!(verdicts([1001, 3, 0], [401, 101, 11], 1410), [Verdict::Holds; 6]);
    }

    /// Beside the other, the chase's thread executed 40 instructions more in the kernel. If these
    /// counted as its own, it would seem to have done a tenth more.
    #[test]
    fn instructions_of_the_kernel_are_not_the_programs_own() {
        assert_eq!(verdicts([1001, 3, 0], [441, 101, 51], 1450), [Verdict::Holds; 6]);
        assert_eq!(verdicts([1001, 3, 0], [441, 101, 11], 1450)[2], Verdict::Fails);
    }

    /// If each thread got half of the CPU's counts, each would have half of what both did.
    #[test]
    fn counts_that_are_shared_out_by_time_break_the_law() {
        let broken = verdicts([700, 51, 5], [700, 51, 5], 1410);
        assert_eq!(broken, [[Verdict::Fails; 5].as_slice(), &[Verdict::Holds]].concat());
    }

    #[test]
    fn without_threads_every_row_fails() {
        let spec = test_kit::spec();
        let rows = threads(&spec, &Places::of(&spec).unwrap(), &Readings::default());
        assert!(rows.iter().all(|row| row.verdict == Verdict::Fails) && rows.len() == 6);
    }
}
