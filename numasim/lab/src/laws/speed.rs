//! Law 9: what the plugin costs the host. The same work runs in the same guest, in turns, with the
//! plugin (which charges nothing: `delays = false`) and in plain QEMU. The host's time from the
//! guest's first mark to its second is compared. Host time is noisy, so the law compares medians of
//! three, and runs only on demand.

use super::row::{Bound, Row};
use super::script::{Program, Step};
use crate::LabError;
use crate::boot::{Host, Task, boot};
use crate::command::left;
use crate::ending::Ending;
use crate::stats::median;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Number of boots of each kind.
const TURNS: usize = 3;
/// Largest ratio of host time that the plugin may cost.
const MOST: f64 = 4.0;
/// Interval at which the output is searched for marks.
const TICK: Duration = Duration::from_millis(5);
const WHAT: &str = "host time with the plugin (delays off), times that of plain QEMU";

/// The work: a chase, streams, arithmetic and a sort, one after another on CPU 0.
#[must_use]
pub fn steps() -> Vec<Step> {
    let commands = ["chase --work 10000000", "stream --rounds 60", "cpu --work 10000000", "/bin/sort --size-kib 8192"];
    let names: Vec<String> = (0..commands.len()).map(|at| format!("w{at}")).collect();
    let mut steps = Vec::new();
    for (name, command) in names.iter().zip(commands) {
        let program = Program { name: name.clone(), cpus: "0".to_owned(), node: 0, command: command.to_owned() };
        steps.extend([Step::Start(program), Step::Ready(name.clone())]);
    }
    steps.push(Step::Mark("begin".to_owned()));
    steps.extend(names.into_iter().flat_map(|name| [Step::Go(vec![name.clone()]), Step::Finish(name)]));
    steps.push(Step::Mark("end".to_owned()));
    steps
}

/// Boots in turns and compares. The first host is plain, the second has the plugin.
///
/// # Errors
/// A boot cannot be started; the user pressed Ctrl-C.
pub fn speed(hosts: [&Host; 2], words: &[String], folder: &Path, interrupted: &AtomicBool) -> Result<Row, LabError> {
    let mut times = [Vec::new(), Vec::new()];
    for turn in 0..TURNS {
        for (at, (host, times)) in hosts.iter().zip(&mut times).enumerate() {
            let task = Task::Command { words, modelled: at == 1, seed: 1, page_trace: false, resctrl: false };
            match timed(host, &task, &folder.join(format!("speed-{turn}-{at}")), interrupted)? {
                Ok(seconds) => times.push(seconds),
                Err(why) => return Ok(Row::fails("speed", WHAT, why)),
            }
        }
    }
    Ok(judged(&times[0], &times[1]))
}

fn judged(plain: &[f64], with: &[f64]) -> Row {
    let ratio = match (median(plain), median(with)) {
        (Some(plain), Some(with)) if plain > 0.0 => Ok(with / plain),
        _ => Err("nothing was timed".to_owned()),
    };
    let shown = |times: &[f64]| times.iter().map(|time| format!("{time:.2}")).collect::<Vec<_>>().join(", ");
    let row = Row::new("speed", WHAT, "", Ok(MOST), Bound::AtMost, ratio);
    let why = format!("host seconds: {} without, {} with", shown(plain), shown(with));
    Row { why: row.why.or(Some(why)), ..row }
}

/// Boots, and returns the host's seconds between the guest's marks.
fn timed(
    host: &Host,
    task: &Task<'_>,
    folder: &Path,
    interrupted: &AtomicBool,
) -> Result<Result<f64, String>, LabError> {
    let over = AtomicBool::new(false);
    let (booted, marks) = std::thread::scope(|scope| {
        let marks = scope.spawn(|| watch(&folder.join(left::OUTPUT), &over));
        let booted = boot(host, task, folder, interrupted);
        over.store(true, Ordering::Relaxed);
        (booted, marks.join().unwrap_or([None; 2]))
    });
    Ok(match (booted?.ending, marks) {
        (Ending::Done, [Some(begin), Some(end)]) => Ok((end - begin).as_secs_f64()),
        (Ending::Done, _) => Err("the guest's marks were not seen".to_owned()),
        (ending, _) => Err(ending.in_words(host.limit_seconds)),
    })
}

/// The times at which the two marks appeared.
fn watch(output: &Path, over: &AtomicBool) -> [Option<Instant>; 2] {
    let mut seen = [None; 2];
    while seen[1].is_none() && !over.load(Ordering::Relaxed) {
        let text = std::fs::read(output).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        for (time, mark) in seen.iter_mut().zip(["@mark begin\n", "@mark end\n"]) {
            if time.is_none() && text.contains(mark) {
                *time = Some(Instant::now());
            }
        }
        std::thread::sleep(TICK);
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::Verdict;

    /// The medians are 2 and 7: a ratio of three and a half.
    #[test]
    fn medians_are_compared_and_one_slow_turn_is_forgiven() {
        let row = judged(&[2.0, 1.9, 9.0], &[7.0, 6.0, 30.0]);
        assert_eq!((row.measured, row.verdict), (Some(3.5), Verdict::Holds));
        assert_eq!(judged(&[1.0; 3], &[4.1; 3]).verdict, Verdict::Fails);
        assert_eq!(judged(&[], &[]).verdict, Verdict::Fails);
    }
}
