//! Decides what will be done, from what was typed, what the command is, and what the machine
//! offers. Pure.

use super::{By, Run};
use crate::machines::launch::{Here, Mode, Obstacle, Program};
use isobar_model::{CpuId, CpuSet, NodeId};
use std::path::PathBuf;

/// What will be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The CPUs that the command may use.
    pub cpus: Option<CpuSet>,
    /// The memory policy that the command starts with.
    pub policy: Option<Mode>,
    /// How decisions reach the command; `None` if it follows none.
    pub by: Option<By>,
    /// The library to preload.
    pub shim: Option<PathBuf>,
    /// The plan in words, one line each.
    pub lines: Vec<String>,
}

impl Plan {
    /// Makes the plan.
    ///
    /// # Errors
    /// One line: what cannot be done, why, and the remedy.
    pub fn make(typed: &Run, program: &Program, here: &Here) -> Result<Self, String> {
        let mut plan = Self { lines: vec![format!("command: {}", program.path.display())], ..Self::default() };
        let fixed = typed.node.as_ref().or(typed.interleave.as_ref());
        plan.cpus = typed.cpus.clone();
        if let Some(nodes) = fixed {
            let bits = known(nodes, here)?;
            if typed.node.is_some() {
                plan.policy = Some(Mode::bind(bits));
                plan.lines.push(format!("memory: only from nodes {nodes} (MPOL_BIND)"));
                if plan.cpus.is_none() {
                    plan.cpus = Some(cpus_of(nodes, here)?);
                }
            } else {
                plan.policy = Some(Mode::interleave(bits));
                plan.lines.push(format!("memory: from nodes {nodes} in turn (MPOL_INTERLEAVE)"));
            }
        }
        if let Some(cpus) = &plan.cpus {
            let gone = cpus.iter().find(|cpu| here.topology.cpu(*cpu).is_none());
            if let Some(cpu) = gone {
                return Err(format!("--cpus: there is no cpu {cpu} online (`isobar topo` lists them)"));
            }
            plan.lines.push(format!("cpus: {cpus}"));
        }
        if fixed.is_none() && (typed.policy.is_some() || typed.decision.is_some() || typed.by.is_some() || here.manager)
        {
            plan.follow(typed, program, here)?;
        } else if plan.lines.len() == 1 {
            plan.lines.push("nothing else: no placement was asked for, and no manager runs".to_owned());
        }
        Ok(plan)
    }

    fn follow(&mut self, typed: &Run, program: &Program, here: &Here) -> Result<(), String> {
        let no_shim = match (program.obstacle, &here.shim) {
            (Some(obstacle), _) => Some(format!("the command is {}", obstacle.words())),
            (None, None) => Some("libisobar_alloc.so is not beside isobar nor in ../lib/isobar".to_owned()),
            (None, Some(_)) => None,
        };
        // A manager writes shared pages. Only the process that reads the decision file sets the
        // machine's weights.
        let no_weights = here.no_weights.clone().or_else(|| {
            typed.decision.is_none().then(|| "the weights can follow --decision, but not yet a manager".to_owned())
        });
        let by = match (typed.by, &no_shim, &no_weights) {
            (Some(By::Shim), Some(why), _) => return Err(format!("--by shim: {why}; --by weights needs no library")),
            (Some(By::Weights), _, Some(why)) => return Err(format!("--by weights: {why}")),
            (Some(by), ..) => by,
            (None, None, _) => By::Shim,
            (None, Some(_), None) => By::Weights,
            (None, Some(shim), Some(_)) if typed.policy.is_none() && typed.decision.is_none() => {
                self.lines.push(format!("new pages: placed by the kernel as usual, because {shim}"));
                return Ok(());
            }
            (None, Some(shim), Some(weights)) => {
                return Err(format!("new pages cannot follow a decision: {shim}, and {weights}"));
            }
        };
        match by {
            By::Shim => self.shim.clone_from(&here.shim),
            By::Weights => self.policy = Some(Mode::weighted(here.memory_bits)),
        }
        self.by = Some(by);
        self.lines.push(match (&no_shim, by) {
            (_, By::Shim) => "new pages: by the preloaded library, for each process separately".to_owned(),
            (Some(why), By::Weights) => format!("new pages: by the machine's weights, because {why}"),
            (None, By::Weights) => "new pages: by the machine's weights (MPOL_WEIGHTED_INTERLEAVE)".to_owned(),
        });
        self.lines.push(match (&typed.decision, here.manager, &typed.policy) {
            (Some(file), ..) => format!("decision: read from {}", file.display()),
            (None, true, _) => "decision: the running manager's".to_owned(),
            (None, false, Some(policy)) => {
                format!("decision: `isobar manage --policy {policy}`, for this command and all that it starts")
            }
            (None, false, None) => "decision: none yet; a manager that starts later is followed".to_owned(),
        });
        Ok(())
    }
}

impl Obstacle {
    /// A description for use in sentences.
    #[must_use]
    pub const fn words(self) -> &'static str {
        self.0.words()
    }
}

fn known(nodes: &CpuSet, here: &Here) -> Result<u64, String> {
    if nodes.is_empty() {
        return Err("no node is named: expected node numbers, such as 0 or 0,1".to_owned());
    }
    let mut bits = 0_u64;
    for CpuId(node) in nodes.iter() {
        let bit = 1_u64.checked_shl(node).unwrap_or(0);
        if bit & here.memory_bits == 0 {
            return Err(format!("node {node} has no memory on this machine: `isobar topo` lists the nodes"));
        }
        bits |= bit;
    }
    Ok(bits)
}

fn cpus_of(nodes: &CpuSet, here: &Here) -> Result<CpuSet, String> {
    let wanted = |cpu: &CpuId| here.topology.node_of(*cpu).is_some_and(|NodeId(node)| nodes.contains(CpuId(node)));
    let cpus: CpuSet = here.topology.cpus().iter().map(|cpu| cpu.id).filter(wanted).collect();
    if cpus.is_empty() {
        return Err(format!("nodes {nodes} have no CPUs: name some with --cpus"));
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machines::launch::obstacles;
    use clap::Parser;
    use isobar_model::topology::synthetic::synthetic;

    fn here() -> Here {
        Here {
            topology: synthetic("node:2 llc:1 core:2").unwrap(),
            memory_bits: 0b11,
            shim: Some("/x/libisobar_alloc.so".into()),
            no_weights: None,
            manager: false,
        }
    }

    fn made(words: &[&str], obstacle: Option<Obstacle>, here: &Here) -> Result<Plan, String> {
        let typed = Run::parse_from(["run"].iter().chain(words).chain(&["--", "x"]));
        Plan::make(&typed, &Program { path: "/bin/x".into(), obstacle }, here)
    }

    #[test]
    fn fixed_placements_are_what_numactl_makes_of_them() {
        let bound = made(&["--node", "1"], None, &here()).unwrap();
        assert_eq!((bound.policy, bound.cpus), (Some(Mode::bind(0b10)), Some("2-3".parse().unwrap())));
        let both = made(&["--node", "0", "--cpus", "3"], None, &here()).unwrap();
        assert_eq!(both.cpus, Some("3".parse().unwrap()));
        let turns = made(&["--interleave", "0,1"], None, &here()).unwrap();
        assert_eq!((turns.policy, turns.cpus, turns.by), (Some(Mode::interleave(0b11)), None, None));
        assert!(made(&["--node", "2"], None, &here()).unwrap_err().contains("node 2 has no memory"));
        assert!(made(&["--cpus", "9"], None, &here()).unwrap_err().contains("no cpu 9"));
    }

    #[test]
    fn the_first_way_that_can_be_used_is_taken() {
        let fixed = obstacles::STATIC;
        let decision = ["--decision", "f"];
        let by = |obstacle, here: &Here| made(&decision, obstacle, here).map(|plan| plan.by);
        assert_eq!(by(None, &here()), Ok(Some(By::Shim)));
        assert_eq!(by(Some(fixed), &here()), Ok(Some(By::Weights)));
        let old = Here { no_weights: Some("Linux 6.8 has no weights".into()), ..here() };
        let neither = by(Some(fixed), &old).unwrap_err();
        assert!(neither.contains("statically linked") && neither.contains("Linux 6.8"), "{neither}");
        let asked = made(&["--decision", "f", "--by", "shim"], Some(fixed), &here()).unwrap_err();
        assert!(asked.contains("--by weights"), "{asked}");
        assert_eq!(made(&[], None, &here()).unwrap().by, None);
        assert_eq!(made(&[], None, &Here { manager: true, ..here() }).unwrap().by, Some(By::Shim));
        assert_eq!(made(&[], Some(fixed), &Here { manager: true, ..here() }).unwrap().by, None, "it runs all the same");
    }
}
