//! Translates the places that an experiment names into CPU numbers of a machine.

use crate::experiment::{Program, Start};
use numasim_model::num;
use numasim_model::{CpuList, Spec};

/// The CPUs of a program's set-up.
///
/// # Errors
/// A line with the key, what is wrong, and what would be right.
pub fn setup(spec: &Spec, program: &Program) -> Result<Vec<u32>, String> {
    let Start { cpus, node } = &program.start;
    match (cpus, node) {
        (Some(text), _) => list(spec, "program.start.cpus", text),
        (None, Some(node)) => of_node(spec, "program.start.node", *node),
        (None, None) => first(spec),
    }
}

/// The CPUs of the first node that has any.
///
/// # Errors
/// No node has CPUs, so the machine is not valid.
pub fn first(spec: &Spec) -> Result<Vec<u32>, String> {
    let node = spec.node.iter().find(|node| !node.cpus.as_slice().is_empty());
    node.map(|node| numbers(&node.cpus)).ok_or_else(|| "node.cpus: the machine has no CPUs".to_owned())
}

/// The CPUs of a list, all of which must exist.
///
/// # Errors
/// A line with the key, what is wrong, and what would be right.
pub fn list(spec: &Spec, key: &str, text: &str) -> Result<Vec<u32>, String> {
    let parsed: CpuList = text.parse().map_err(|problem| format!("{key}: {problem}"))?;
    let most = spec.cpus();
    match parsed.as_slice().iter().find(|cpu| **cpu >= most) {
        Some(cpu) => {
            Err(format!("{key} = \"{text}\": {} has no CPU {cpu}, only 0-{}", spec.name, most.saturating_sub(1)))
        }
        None if parsed.as_slice().is_empty() => Err(format!("{key} is empty: expected CPUs, such as \"0-3\"")),
        None => Ok(numbers(&parsed)),
    }
}

/// The CPUs of a node, which must have some.
///
/// # Errors
/// A line with the key, what is wrong, and what would be right.
pub fn of_node(spec: &Spec, key: &str, node: u32) -> Result<Vec<u32>, String> {
    let all = spec.node.get(num::index(node));
    let all =
        all.ok_or_else(|| format!("{key} = {node}: {} has {} nodes, numbered from 0", spec.name, spec.node.len()))?;
    let cpus = numbers(&all.cpus);
    if cpus.is_empty() { Err(format!("{key} = {node}: this node has no CPUs")) } else { Ok(cpus) }
}

fn numbers(cpus: &CpuList) -> Vec<u32> {
    cpus.as_slice().iter().map(|cpu| num::narrow(*cpu)).collect()
}
