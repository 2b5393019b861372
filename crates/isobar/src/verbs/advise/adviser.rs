//! Watches the loop, and prints its advice at the end.

use super::about::{self, About};
use super::lines;
use super::numad;
use super::target::AdviceTarget;
use crate::output::Sink;
use crate::report::{AfterRun, Reporter};
use crate::text::{json_line, plain};
use anyhow::bail;
use isobar_model::{Capabilities, Observation, Sensor};
use isobar_runtime::advise::{Advice, Advisor};
use isobar_runtime::{BoxError, Epoch, Observer, Start, Tally};

/// The reporter of `isobar advise`.
pub struct Adviser<'a> {
    out: &'a mut dyn Sink,
    of: AdviceTarget,
    json: bool,
    advisor: Advisor,
    capabilities: Capabilities,
    last: Option<Observation>,
}

impl<'a> Adviser<'a> {
    /// Prints the advice to `out`.
    pub fn new(out: &'a mut dyn Sink, of: AdviceTarget, json: bool) -> Self {
        Self { out, of, json, advisor: Advisor::default(), capabilities: Capabilities::default(), last: None }
    }

    /// The advice that was asked for. For a command, this includes the processes that it started.
    fn wanted(&self, seen: &Observation) -> anyhow::Result<Vec<Advice>> {
        let all = self.advisor.advise();
        let is = |one: &Advice| match &self.of {
            AdviceTarget::All | AdviceTarget::Room(_) => true,
            AdviceTarget::Process(pid) => one.pid == *pid,
            AdviceTarget::Command(pid, _) => one.pid == *pid || crate::machines::linux::descends(one.pid, *pid),
        };
        let wanted: Vec<Advice> = all.into_iter().filter(is).collect();
        match &self.of {
            AdviceTarget::Process(pid) if wanted.is_empty() && seen.process(*pid).is_some() => {
                bail!(
                    "process {pid} hardly runs: nothing can be predicted while it waits; run advise again \
                     while it is busy"
                )
            }
            AdviceTarget::Process(pid) if wanted.is_empty() => {
                bail!(
                    "process {pid} does not exist, or hardly runs: nothing to advise; `isobar advise` lists the \
                     busy programs"
                )
            }
            AdviceTarget::Command(..) if wanted.is_empty() => {
                bail!("the command ended or hardly ran: nothing can be predicted; give it more work, or a longer --for")
            }
            _ => Ok(wanted),
        }
    }
}

/// Why nothing can be predicted on this machine, and what to do about it; `None` if it can.
fn obstacle(capabilities: &Capabilities) -> Option<String> {
    let why = |sensor: Sensor| capabilities.missing.get(&sensor);
    if why(Sensor::SeveralNodes).is_some() {
        return Some(
            "this machine has one memory node, so nothing can be bound, interleaved or split; see `isobar topo`"
                .to_owned(),
        );
    }
    let (counter, reason) = [Sensor::Instructions, Sensor::LlcMisses, Sensor::PagesByNode]
        .into_iter()
        .find_map(|sensor| Some((sensor, why(sensor)?)))?;
    Some(format!("no gain can be predicted, because {counter} cannot be measured: {}", plain(reason)))
}

impl Observer for Adviser<'_> {
    fn begin(&mut self, start: &Start<'_>) -> Result<(), BoxError> {
        self.capabilities.clone_from(&start.sample.capabilities);
        match obstacle(&self.capabilities) {
            Some(why) if !matches!(self.of, AdviceTarget::Room(_)) => Err(why.into()),
            _ => Ok(()),
        }
    }

    fn epoch(&mut self, epoch: &Epoch<'_>) -> Result<(), BoxError> {
        if !matches!(self.of, AdviceTarget::Room(_)) {
            self.advisor.watch(epoch.managed);
        }
        self.last = Some(epoch.seen.clone());
        Ok(())
    }
}

impl Reporter for Adviser<'_> {
    fn end(&mut self, _: &Tally, _: &AfterRun) -> anyhow::Result<()> {
        let Some(seen) = self.last.take() else { bail!("stopped before anything was measured") };
        if let AdviceTarget::Room(wanted) = self.of {
            writeln!(self.out, "{}", numad::nodes(&numad::room(&seen), wanted))?;
            return Ok(self.out.flush()?);
        }
        let wanted = self.wanted(&seen)?;
        let balancing = self.capabilities.numa_balancing;
        let about = About { of: &self.of, machine: &seen.machine, balancing };
        if self.json {
            writeln!(self.out, "{}", json_line(&about::json(&wanted, &about)))?;
        } else {
            lines::all(&wanted, &about).iter().try_for_each(|line| writeln!(self.out, "{}", plain(line)))?;
        }
        Ok(self.out.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_measured_is_said_with_its_reason() {
        let mut capabilities = Capabilities::default();
        assert_eq!(obstacle(&capabilities), None);
        capabilities.missing.insert(Sensor::LlcMisses, "no PMU in this VM".into());
        assert!(obstacle(&capabilities).unwrap().ends_with("cannot be measured: no PMU in this VM"));
        capabilities.missing.insert(Sensor::SeveralNodes, "one node".into());
        assert!(obstacle(&capabilities).unwrap().starts_with("this machine has one memory node"));
    }
}
