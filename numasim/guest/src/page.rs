//! The modelled machine as the guest sees it: starts modelling, and reads what was counted since
//! then from the page that plugin and guest share.

use crate::switches;
use anyhow::{Context, bail};
use numasim_guest::counters::{Counters, Cpu, Link, Node};
use numasim_guest::wire::Ways;
use numasim_page::{Guest, Header, Mapping, Snapshot};
use std::process::Command;
use std::time::Duration;

/// How long to wait for the plugin, in guest time. It answers at the end of a window.
const PATIENCE: Duration = Duration::from_secs(1);

/// The machine. `None` if there is no plugin; then nothing is counted.
pub struct Machine(Option<Guest<Mapping>>);

impl Machine {
    /// Starts modelling, if the order says so.
    pub fn begin(modelled: bool) -> anyhow::Result<Self> {
        if !modelled {
            return Ok(Self(None));
        }
        let page = Guest::open(Mapping::device()?)?;
        match switches::of_this_kernel() {
            Some(switches) => page.set_switches(&switches),
            None => eprintln!(
                "director: /proc/kallsyms and /sys/kernel/btf/vmlinux do not say how this kernel switches threads, \
                 so nothing is counted by thread"
            ),
        }
        let machine = Self(Some(page));
        machine.control("start")?;
        machine.control("publish")?;
        machine.page().map_or(Ok(()), |page| page.check().map(|_| ()))?;
        Ok(machine)
    }

    fn page(&self) -> Option<&Guest<Mapping>> {
        self.0.as_ref()
    }

    /// All counters at present; `None` if nothing is modelled.
    pub fn counters(&self) -> anyhow::Result<Option<Counters>> {
        self.control("publish")?;
        let Some(page) = self.page() else { return Ok(None) };
        let header = page.check()?;
        Ok(Some(counters(&header, &page.snapshot()?)))
    }

    /// Empties all caches, so that a run begins with nothing of the run before.
    pub fn empty(&self) -> anyhow::Result<()> {
        self.control("empty")
    }

    /// Limits every thread to the given ways of the given LLCs, and to all ways of the others. What
    /// a daemon that was killed in the run before left of classes is gone then.
    pub fn ways(&self, asked: &[Ways]) -> anyhow::Result<()> {
        let Some(page) = self.page() else { return Ok(()) };
        page.reset()?;
        for ways in asked {
            page.set_mask(usize::try_from(ways.llc).unwrap_or(usize::MAX), 0, ways.mask)?;
        }
        Ok(page.wait(page.commit(), PATIENCE)?)
    }

    /// Sends the plugin a word of `numasim-ctl`.
    pub fn control(&self, word: &str) -> anyhow::Result<()> {
        if self.0.is_none() {
            return Ok(());
        }
        let status = Command::new("numasim-ctl").arg(word).status().context("numasim-ctl")?;
        if status.success() { Ok(()) } else { bail!("numasim-ctl {word}: {status}") }
    }
}

fn counters(header: &Header, seen: &Snapshot) -> Counters {
    let wide = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let nodes = seen.nodes.len();
    let cpu = |(place, cpu): (&numasim_page::Place, &numasim_page::CpuFigures)| Cpu {
        node: wide(place.node),
        llc: wide(place.llc),
        instructions: cpu.instructions,
        cycles: cpu.cycles,
        llc_references: cpu.llc_references,
        llc_misses: cpu.llc_misses,
        misses_by_node: cpu.misses_by_node.iter().take(nodes).copied().collect(),
        bytes_read: cpu.bytes_read,
        bytes_written: cpu.bytes_written,
        stall_ps: cpu.stall_ps,
        busy_ps: cpu.busy_ps,
        covered: cpu.covered,
        hitm_local: cpu.hitm_local,
        hitm_remote: cpu.hitm_remote,
    };
    let node = |node: &numasim_page::NodeFigures| Node {
        bytes_read: node.bytes_read,
        bytes_written: node.bytes_written,
        busy_ps: node.busy_ps,
        delay_ps: node.delay_ps,
        waited_ps: node.waited_ps,
    };
    let link = |(&(from, to), link): (&(usize, usize), &numasim_page::LinkFigures)| Link {
        from: wide(from),
        to: wide(to),
        bytes: link.bytes,
        busy_ps: link.busy_ps,
        waited_ps: link.waited_ps,
    };
    Counters {
        time_ns: seen.time_ns,
        cpus: header.cpus.iter().zip(&seen.cpus).map(cpu).collect(),
        nodes: seen.nodes.iter().map(node).collect(),
        links: seen.links.iter().map(link).collect(),
    }
}
