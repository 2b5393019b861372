//! What an experiment says while it boots: a line on standard error for each run that is done. It
//! only reads what guests have reported.

use numasim_guest::wire::{Line, Order};
use numasim_lab::boot;
use numasim_lab::command::left;
use numasim_lab::plan;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(500);

/// Reports runs until all boots are done; those of the last look are not reported any more, for the
/// table follows.
pub fn tell(folder: &Path, orders: &[Order], all_done: &AtomicBool) {
    let began = Instant::now();
    let mut shown = vec![0; orders.len()];
    while !all_done.load(Ordering::Relaxed) {
        for ((at, order), shown) in (0..).zip(orders).zip(&mut shown) {
            let text = std::fs::read_to_string(folder.join(boot::folder(at)).join(left::RESULTS)).unwrap_or_default();
            let ran = done(&text);
            for (run, (name, seconds)) in ran.iter().enumerate().skip(*shown) {
                let (run, of, host) = (run + 1, plan::runs(order), began.elapsed().as_secs_f64());
                eprintln!(
                    "boot {}: run {run} of {of}, {name}: {seconds:.1} s of guest time; {host:.0} s so far",
                    at + 1
                );
            }
            *shown = ran.len();
        }
        std::thread::sleep(LOOK);
    }
}

/// Runs that a guest has reported, and how long they took; a line that is half written does not
/// count yet.
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
