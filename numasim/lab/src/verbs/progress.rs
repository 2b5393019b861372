//! Reports the progress of boots: a line on standard error for each run that is done. It only reads
//! what guests have reported.

use numasim_guest::wire::Line;
use numasim_lab::command::left;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(500);

/// A boot that is under way.
pub struct Watched {
    /// Its name in messages.
    pub label: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Number of its runs.
    pub runs: u32,
    /// Number of runs that were reported.
    pub shown: usize,
}

/// Reports runs until all boots are done. Runs that end after the last look are not reported,
/// because the table follows.
pub fn notify(watched: &Mutex<Vec<Watched>>, all_done: &AtomicBool) {
    let began = Instant::now();
    while !all_done.load(Ordering::Relaxed) {
        watched.lock().unwrap_or_else(PoisonError::into_inner).iter_mut().for_each(|boot| look(boot, began));
        std::thread::sleep(LOOK);
    }
}

fn look(boot: &mut Watched, began: Instant) {
    let text = std::fs::read_to_string(boot.folder.join(left::RESULTS)).unwrap_or_default();
    let ran = done(&text);
    for (run, (name, seconds)) in ran.iter().enumerate().skip(boot.shown) {
        let (label, run, of, host) = (&boot.label, run + 1, boot.runs, began.elapsed().as_secs_f64());
        eprintln!("{label}: run {run} of {of}, {name}: {seconds:.1} s of guest time; {host:.0} s so far");
    }
    boot.shown = ran.len();
}

/// Runs that a guest has reported, and how long they took. An incomplete line does not count yet.
fn done(text: &str) -> Vec<(String, f64)> {
    let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    lines.filter_map(|line: Line| line.ran().map(|ran| (ran.id.clone(), ran.seconds))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_of_runs_count() {
        let run = r#"{"kind":"run","id":"alone/chase","seconds":2.5,"jobs":[],"vmstat":{}}"#;
        let text = format!("{{\"kind\":\"hello\",\"kernel\":\"6.12\",\"online\":\"0-7\"}}\n{run}\n{}", &run[..40]);
        assert_eq!(done(&text), [("alone/chase".to_owned(), 2.5)]);
        assert_eq!(done(""), []);
    }
}
