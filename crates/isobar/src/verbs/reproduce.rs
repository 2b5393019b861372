//! `isobar reproduce`: runs the experiments behind the papers' claims again.

use super::Verb;
use super::options::{Jobs, Sets, seed};
use super::report::{self, PageOption};
use super::sim::{Task, compare_all};
use crate::failure::bad_input;
use crate::progress::Progress;
use crate::text::json_line;
use isobar_lab::reproduce::{
    DC, DINO, Figure, NMASS, Options, Reproduction, camm, claims_table, pages, sensitivity, sensitivity_table,
};
use isobar_lab::{BASE, CompareSpec, LabError};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Run the papers' experiments again on simulated machines, claim by claim: the paper's figure,
/// ours, and whether they agree
#[derive(Debug, clap::Parser)]
#[command(
    name = "reproduce",
    after_help = "Example:
  isobar reproduce nmass
  isobar reproduce all --figures figures --json
  isobar reproduce nmass --report nmass.html
  isobar reproduce nmass --sensitivity
  isobar reproduce nmass \\
      --policy n-mass,exec:examples/policies/least_loaded.py

Sign: whether the direction agrees with the paper; size: whether the figure agrees, within the band
given under `why`; - means that the paper prints nothing to compare with. A claim that does not come
out is shown as such in the table, and is not a failure."
)]
pub struct Reproduce {
    /// The paper whose experiments are run
    #[arg(value_name = "PAPER", value_enum, default_value_t = Paper::All)]
    paper: Paper,
    /// Make fewer and shorter runs: the signs of effects come out, their sizes are rough
    #[arg(long)]
    quick: bool,
    /// Redraw the papers' figures as SVG files in this folder, which is created if it is missing
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
    /// a page of it
    #[command(flatten)]
    page: PageOption,
    /// Run with estimates at the low and at the high end of their ranges (for nmass, dino and dc)
    ///
    /// One kind of estimate is varied at a time. A claim whose sign flips is open.
    #[arg(long, conflicts_with_all = ["figures", "report"])]
    sensitivity: bool,
    /// Run these policies on the paper's workloads instead of the claims (for nmass, dino and dc)
    ///
    /// The output shows what each policy gains over `linux` on each workload; exec:CMD is a program
    /// of yours.
    #[arg(long, value_name = "A,B,...", value_delimiter = ',', conflicts_with_all = ["figures", "sensitivity", "report"])]
    policy: Vec<String>,
    /// settings of policies
    #[command(flatten)]
    sets: Sets,
    /// The first seed; the same seed gives the same bytes, except for the times of dc-6
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    seed: u64,
    /// how many runs at a time
    #[command(flatten)]
    jobs: Jobs,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// What `isobar reproduce` runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Paper {
    /// Majo and Gross 2011: N-MASS
    Nmass,
    /// Blagodurov and others 2011: DINO
    Dino,
    /// Kotra and others 2017: CAMM
    Camm,
    /// Bilbao and others 2023: Divide&Content
    Dc,
    /// Diener and others 2016: page usage
    Pages,
    /// all of them
    All,
}

/// A reproduction by name, and the function that runs it. The last argument is called with the
/// number of experiments done and the total.
type Named = (&'static str, fn(&Options, &(dyn Fn(usize, usize) + Sync)) -> Result<Reproduction, LabError>);

const OF_NMASS: Named = (NMASS.name, |options, progress| NMASS.run(options, progress));
const OF_DINO: Named = (DINO.name, |options, progress| DINO.run(options, progress));
const OF_CAMM: Named = ("camm", camm);
const OF_DC: Named = (DC.name, |options, progress| DC.run(options, progress));
const OF_PAGES: Named = ("pages", pages);

/// The reproductions that were asked for, in the order of the table in the design document.
const fn wanted(paper: Paper) -> &'static [Named] {
    match paper {
        Paper::Nmass => &[OF_NMASS],
        Paper::Dino => &[OF_DINO],
        Paper::Camm => &[OF_CAMM],
        Paper::Dc => &[OF_DC],
        Paper::Pages => &[OF_PAGES],
        Paper::All => &[OF_NMASS, OF_DINO, OF_CAMM, OF_PAGES, OF_DC],
    }
}

/// A paper whose experiments can be run with estimates at the ends of their ranges.
const fn varied(paper: Paper) -> Option<&'static isobar_lab::reproduce::Paper> {
    match paper {
        Paper::Nmass => Some(&NMASS),
        Paper::Dino => Some(&DINO),
        Paper::Dc => Some(&DC),
        Paper::Camm | Paper::Pages | Paper::All => None,
    }
}

impl Reproduce {
    /// Runs the user's policies on the paper's workloads.
    fn policies(&self, options: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
        let Some(paper) = varied(self.paper) else {
            return Err(bad_input("--policy: on the workloads of one paper at a time: expected nmass, dino or dc"));
        };
        let mut policies = self.policy.clone();
        if !policies.iter().any(|name| name == BASE) {
            policies.insert(0, BASE.to_owned());
        }
        let spec = |workload| CompareSpec { seed: self.seed, jobs: options.jobs, ..CompareSpec::new(workload) };
        let tasks = paper.workloads(options)?.into_iter().map(|(name, workload)| Task { name, spec: spec(workload) });
        compare_all(tasks.collect(), &policies, &self.sets.config()?, self.json, out)
    }

    fn sensitivity(&self, options: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
        let Some(paper) = varied(self.paper) else {
            return Err(bad_input("--sensitivity: for one paper at a time: expected nmass, dino or dc"));
        };
        let name = paper.name;
        let progress = Progress::of("runs");
        let seen = sensitivity(paper, options, &|kind, done, all| match all {
            0 => progress.busy(&format!("{name}, {kind}")),
            _ => progress.notify(done, all),
        });
        progress.end();
        let seen = seen.map_err(|error| anyhow::Error::from(error).context(format!("the experiments of {name}")))?;
        if self.json {
            return Ok(writeln!(
                out,
                "{}",
                json_line(&json!({"seed": self.seed, "quick": self.quick, "sensitivity": seen}))
            )?);
        }
        Ok(write!(out, "{}", sensitivity_table(&seen))?)
    }
}

impl Verb for Reproduce {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let folder = self.figures.as_deref();
        folder.map_or(Ok(()), make)?; // before minutes of work
        self.page.check()?;
        let options = Options { quick: self.quick, seed: self.seed, jobs: self.jobs.count(), varied: None };
        if self.sensitivity {
            return self.sensitivity(&options, out);
        }
        if !self.policy.is_empty() {
            return self.policies(&options, out);
        }
        let mut papers = Vec::new();
        for (name, run) in wanted(self.paper) {
            let progress = Progress::of("runs");
            progress.busy(name);
            let done = run(&options, &|done, all| progress.notify(done, all));
            progress.end();
            let done =
                done.map_err(|error| anyhow::Error::from(error).context(format!("the experiments of {name}")))?;
            folder.map_or(Ok(()), |folder| write_figures(folder, &done.figures))?;
            papers.push(done);
        }
        let document = json!({"seed": self.seed, "quick": self.quick, "papers": papers});
        let names: Vec<_> = papers.iter().map(|paper| paper.paper).collect();
        let title = names.join(", ");
        self.page.write(|| report::reproduction(document.clone(), Path::new(&title), &|file| drawn(&papers, file)))?;
        if self.json {
            return Ok(writeln!(out, "{}", json_line(&document))?);
        }
        let tables: Vec<_> = papers.iter().map(claims_table).collect();
        write!(out, "{}", tables.join("\n"))?;
        Ok(folder.map_or(Ok(()), |folder| {
            let count: usize = papers.iter().map(|paper| paper.figures.len()).sum();
            writeln!(out, "\n{count} figures are in {}", crate::text::plain(&folder.display().to_string()))
        })?)
    }
}

/// Finds a figure by its file name.
fn drawn(papers: &[Reproduction], file: &str) -> Option<String> {
    let figures = papers.iter().flat_map(|paper| &paper.figures);
    figures.into_iter().find(|figure| figure.file == file).map(|figure| figure.svg.clone())
}

fn make(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| {
        bad_input(format!(
            "--figures {}: {error}: expected a folder, or a place where one can be made",
            folder.display()
        ))
    })
}

fn write_figures(folder: &Path, figures: &[Figure]) -> anyhow::Result<()> {
    figures.iter().try_for_each(|figure| {
        let file = folder.join(&figure.file);
        std::fs::write(&file, &figure.svg)
            .map_err(|error| anyhow::anyhow!("{}: cannot be written: {error}", file.display()))
    })
}
