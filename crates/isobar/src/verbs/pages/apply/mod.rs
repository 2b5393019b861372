//! `isobar pages apply`: moves the pages of a live process to the nodes that a mapping of a traced
//! run gives them, and undoes that.

mod options;
mod plan;
mod profile;
mod shown;
mod subject;
pub mod undo;

use crate::failure::{bad_input, notify};
use crate::machines::linux;
use crate::signals::StopFlag;
use anyhow::Context;
use isobar_linux::actuators::manager_lock::{self, ManagerLock};
use isobar_linux::actuators::origins;
use isobar_linux::actuators::pages::PageOptions;
use isobar_model::{NodeId, Pid};
use isobar_pages::{Homes, MIN_EXCLUSIVITY, Mapping, Seen, transfer};
use options::{ThreadNodes, mapping, nodes, thread_nodes};
use plan::Plan;
use profile::Traced;
use shown::{Done, Head};
use std::io::Write;
use std::path::{Path, PathBuf};
use subject::Subject;

/// Move the pages of a live process to where a mapping of its traced run wants them
#[derive(Debug, clap::Parser)]
#[command(
    name = "apply",
    override_usage = "isobar pages apply [OPTIONS] FILE PID\n       isobar pages apply --undo [OPTIONS] PID",
    after_help = "Example:
  isobar pages apply stencil.trace 4711 --dry-run
  isobar pages apply stencil.trace 4711 --policy locality
  isobar pages apply --undo 4711

The process must run the traced program, with the same number of threads. Its addresses may differ:
pages are found by mapping and offset, stacks by thread, anonymous mappings by size and order. Traced
pages without a counterpart are counted, and nothing is moved for them.

Before the first page moves, the places of all pages to be moved are recorded beside the state file;
--undo, or `isobar restore`, moves the pages back. If the command is interrupted, it says how far it
came; if it is run again, it moves the pages that are not in place yet. The output shows where pages
are afterwards, as the kernel reports it.

Exit code: 0 done, also if pages stayed (see why in the output); 1 interrupted, the process
ended, or it may use memory of one node only; 2 bad input."
)]
pub struct Apply {
    /// The trace and the process id; with --undo only the process id
    #[arg(value_names = ["FILE", "PID"], required = true, num_args = 1..=2)]
    words: Vec<String>,
    /// The mapping to apply: first-touch, random, round-robin, interleave, locality, remote,
    /// balanced or mixed
    #[arg(long, value_name = "NAME", default_value = "mixed", value_parser = mapping)]
    policy: Mapping,
    /// The share of accesses from one node above which `mixed` places a page by locality, 0 to 1
    #[arg(long, value_name = "X", default_value_t = MIN_EXCLUSIVITY, value_parser = options::share)]
    min_excl: f64,
    /// Nodes to use, such as 0-3 or 0,2 [default: those with memory that the process may use]
    #[arg(long, value_name = "LIST", value_parser = nodes)]
    nodes: Option<options::Nodes>,
    /// The node of each traced thread, in the order in which the threads began: `compact`, or a
    /// list of numbers that count the used nodes from 0 [default: where the threads of the process
    /// run now]
    #[arg(long, value_name = "LIST", value_parser = thread_nodes)]
    threads_to_nodes: Option<ThreadNodes>,
    /// Maximum number of pages moved per second
    #[arg(long, value_name = "PAGES/S", default_value_t = 65_536, value_parser = clap::value_parser!(u64).range(1..))]
    rate: u64,
    /// Print what would be moved, and move nothing
    #[arg(long)]
    dry_run: bool,
    /// Also move pages for which the owner of the process has set a memory policy
    #[arg(long)]
    force: bool,
    /// Move pages back to where they were before
    #[arg(long, conflicts_with_all = ["policy", "min_excl", "nodes", "threads_to_nodes", "dry_run", "force"])]
    undo: bool,
    /// The state file beside which the record of moved pages is kept [default:
    /// /run/isobar/state.json for root, $XDG_RUNTIME_DIR/isobar/state.json for others]
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Apply {
    /// Runs the command.
    ///
    /// # Errors
    /// Bad input; a process that may not be moved or has ended; an interruption.
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let stop = StopFlag::install().context("cannot catch signals")?;
        let state = self.state.clone().unwrap_or_else(linux::default_state);
        match (self.words.as_slice(), self.undo) {
            ([pid], true) => {
                undo::run(&undo::Undo { pid: options::pid(pid)?, state, rate: self.rate, json: self.json }, &stop, out)
            }
            ([file, pid], false) => self.apply(file.as_ref(), options::pid(pid)?, &state, &stop, out),
            (_, true) => Err(bad_input("--undo takes the process id only, such as `isobar pages apply --undo 4711`")),
            (_, false) => Err(bad_input(
                "a trace and a process id are needed, such as `isobar pages apply stencil.trace 4711`; make \
                 the trace with `isobar trace -o stencil.trace -- COMMAND`",
            )),
        }
    }

    fn apply(&self, file: &Path, pid: Pid, state: &Path, stop: &StopFlag, out: &mut dyn Write) -> anyhow::Result<()> {
        let traced = Traced::read(file)?;
        let subject = Subject::look(pid, self.nodes.as_ref().map(|nodes| nodes.0.as_slice()))?;
        let plan = self.plan(&traced, &subject)?;
        if subject.nodes.len() < 2 && !self.dry_run {
            return Err(one_node(&subject));
        }
        let head = Head { subject: &subject, policy: self.mapping().name(), profile: &traced.profile, plan: &plan };
        if self.dry_run {
            return shown::show(&head, None, self.json, out);
        }
        let done = self.act(&subject, &plan, state, stop)?;
        shown::show(&head, Some(&done), self.json, out)?;
        if done.placed.left > 0 {
            anyhow::bail!(
                "interrupted: {} of {} pages were not tried; run it again for the rest, or put the others back with \
                 `isobar pages apply --undo {pid}`",
                done.placed.left,
                plan.moves.len()
            );
        }
        Ok(())
    }

    fn mapping(&self) -> Mapping {
        match self.policy {
            Mapping::Mixed { .. } => Mapping::Mixed { min_excl: self.min_excl },
            other => other,
        }
    }

    /// Determines where pages should be, where they are, and which are to be moved.
    fn plan(&self, traced: &Traced, subject: &Subject) -> anyhow::Result<Plan> {
        let homes = self.homes(traced, subject)?;
        let profile = &traced.profile;
        let seen = Seen::new(&profile.usage, &homes).map_err(bad_input)?;
        let placement = self.mapping().place(&seen);
        let found = transfer(profile, &traced.regions, &placement, &subject.regions, subject.page_bytes);
        let pages: Vec<u64> = found.wanted.iter().map(|wanted| wanted.page).collect();
        let now = subject.process.locate(&pages).with_context(|| format!("process {}", subject.process.pid))?;
        let policies = if self.force { Vec::new() } else { subject.policies.clone() };
        Ok(Plan::new(&found, &now, &subject.nodes, &subject.huge, &policies))
    }

    fn homes(&self, traced: &Traced, subject: &Subject) -> anyhow::Result<Homes> {
        let (threads, nodes) = (traced.profile.usage.threads(), subject.nodes.len());
        let list = match &self.threads_to_nodes {
            Some(ThreadNodes::Compact) => return Homes::compact(nodes, threads).map_err(bad_input),
            Some(ThreadNodes::List(list)) => list.clone(),
            None if threads == subject.homes.len() => subject.homes.clone(),
            None => {
                return Err(bad_input(format!(
                    "the trace has {threads} threads and process {} has {}: they cannot be matched; name the \
                     node of each traced thread with --threads-to-nodes",
                    subject.process.pid,
                    subject.homes.len()
                )));
            }
        };
        if list.len() != threads {
            let count = list.len();
            return Err(bad_input(format!("--threads-to-nodes: {count} nodes for the {threads} threads of the trace")));
        }
        Homes::new(nodes, &list).map_err(|error| bad_input(format!("--threads-to-nodes: {error}")))
    }

    /// Records where pages are, moves them, and then looks where they are.
    fn act(&self, subject: &Subject, plan: &Plan, state: &Path, stop: &StopFlag) -> anyhow::Result<Done> {
        let manager = manager_lock::place().as_deref().map(ManagerLock::take).transpose()?;
        manager.iter().flat_map(ManagerLock::remarks).for_each(|remark| notify(remark));
        let locked = origins::record(state, subject.process, &plan.origins())?;
        let placed = subject.process.place(
            &plan.targets(),
            &PageOptions::default(),
            self.rate,
            &|| stop.is_raised(),
            &mut |_| {},
        );
        drop(locked);
        let pages: Vec<u64> = plan.pages.iter().map(|page| page.wanted.page).collect();
        let ended = || format!("process {} ended while its pages were moved", subject.process.pid);
        let after = subject.process.locate(&pages).with_context(ended)?;
        Ok(Done { placed, after })
    }
}

fn one_node(subject: &Subject) -> anyhow::Error {
    let only = subject.nodes.first().map_or_else(|| "none".to_owned(), NodeId::to_string);
    anyhow::anyhow!(
        "process {} may use memory of one node only ({only}): there is nowhere to move its pages to; \
         --dry-run shows which of them were found",
        subject.process.pid
    )
}
