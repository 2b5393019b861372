//! `isobar sweep`: runs a grid of simulations, studies and numasim experiments as jobs with stable
//! names, on all cores here or on a cluster. A sweep that was cut off can be resumed, and its
//! results merged.

mod expand;
mod file;
mod jobs;
mod merge;
mod shard;
mod slurm;
mod work;

use super::Verb;
use super::options::Jobs;
use crate::failure::notify;
use crate::text::plural;
use expand::expand;
use shard::Shard;
use std::io::Write;
use std::path::PathBuf;

/// Run a grid of simulations, studies or numasim experiments, here or on a cluster
#[derive(Debug, clap::Parser)]
#[command(
    name = "sweep",
    after_help = "Example:
  isobar sweep examples/sweep.toml --list
  isobar sweep grid.toml           # on all cores; skips jobs that are done
  isobar sweep grid.toml --merge > grid.csv
  isobar sweep grid.toml --slurm cluster && sbatch cluster/sweep.sbatch

docs/sweep.md describes FILE. The name of a job is made from what it runs and from the contents of its files: if they change, it
is a different job. Results are in DIR/jobs, one file for each job. The error messages of failed jobs are in DIR/failed."
)]
pub struct Sweep {
    /// The file that describes the grid
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The folder of results [default: FILE with the ending .sweep]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Run only the jobs of part I of N parts, from 1/N to N/N
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Print the jobs and the state of each, and run nothing
    #[arg(long, conflicts_with_all = ["merge", "slurm"])]
    list: bool,
    /// Print the results so far as CSV, or with --json as JSON lines with everything that the jobs
    /// printed; run nothing
    #[arg(long, conflicts_with = "slurm")]
    merge: bool,
    /// Write a Slurm job array that runs the sweep into this folder, which is created if it is
    /// missing; run nothing
    #[arg(long, value_name = "DIR")]
    slurm: Option<PathBuf>,
    /// Number of tasks in that array [default: one for each job, at most 100]
    #[arg(long, value_name = "N", requires = "slurm", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    tasks: Option<u32>,
    /// how many jobs at a time
    #[command(flatten)]
    jobs: Jobs,
    /// Print JSON: lines with --merge and --list, otherwise one document at the end
    #[arg(long)]
    json: bool,
}

impl Sweep {
    fn folder(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(|| self.file.with_extension("sweep"))
    }
}

impl Verb for Sweep {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let all = expand(&self.file)?;
        let folder = self.folder();
        if let Some(cluster) = &self.slurm {
            return slurm::write(cluster, self, all.len(), out);
        }
        let mine = self.shard.map_or_else(|| all.clone(), |shard| shard.of(&all));
        if self.list {
            return jobs::list(&mine, &folder, self.json, out);
        }
        if self.merge {
            let missing = merge::merge(&mine, &folder, self.json, out)?;
            if missing > 0 {
                notify(&format!("{} of {} have no result yet", missing, plural(mine.len(), "job")));
            }
            return Ok(());
        }
        let done = work::run(&mine, &folder, self.jobs.count())?;
        done.show(&folder, self.json, out)
    }
}
