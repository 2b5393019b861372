//! Runs the commands between set-up and the measured part, such as a command that moves the pages
//! of a program that has touched them. There is one command for each measured job, and each must
//! succeed.

use crate::daemon::last;
use crate::job::{Child, Running};
use crate::procfs;
use numasim_guest::wire::SetupResult;
use std::path::Path;

/// Runs the command for each measured job, one after another.
///
/// # Errors
/// A line with the job, how its command ended, and the last line of its errors.
pub fn run(command: &[String], jobs: &[Running<'_>], folder: &Path, until: f64) -> Result<SetupResult, String> {
    let moved = || procfs::vmstat().ok()?.get("pgmigrate_success").copied();
    let (mut ran, before) = (SetupResult::default(), moved());
    for job in jobs.iter().filter(|job| !job.background()) {
        let failed = |why: String| format!("the command before {}: {why}", job.name());
        let argv = words(command, job.name(), job.child.pid());
        let mut child = Child::start(&format!("before-{}", job.name()), &argv, folder)
            .map_err(|error| failed(format!("it cannot be started: {error:#}")))?;
        if !child.wait_until(until) {
            return Err(failed("it took longer than the time limit of the run".to_owned()));
        }
        child.problem().map_or(Ok(()), |why| Err(failed(why)))?;
        ran.said.insert(job.name().to_owned(), last(&child.output()));
    }
    ran.pages_moved = before.zip(moved()).map_or(0, |(before, after)| after.saturating_sub(before));
    Ok(ran)
}

/// Replaces `{pid}` and `{program}`, also within a word.
fn words(command: &[String], job: &str, pid: u32) -> Vec<String> {
    let program = job.split_once('#').map_or(job, |(program, _)| program);
    command.iter().map(|word| word.replace("{pid}", &pid.to_string()).replace("{program}", program)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pid_and_program_are_put_in_their_places() {
        let command = ["mover", "/host/{program}.trace", "{pid}"].map(str::to_owned);
        assert_eq!(words(&command, "chase#2", 71), ["mover", "/host/chase.trace", "71"]);
        assert_eq!(words(&command, "table", 7), ["mover", "/host/table.trace", "7"]);
    }
}
