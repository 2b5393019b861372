//! Formats advice as JSON, and gives the command to type for each choice.

use super::target::AdviceTarget;
use isobar_model::{CpuSet, NodeId, Topology};
use isobar_runtime::advise::{Advice, AdviceKind, Choice, Confidence};
use serde_json::{Value, json};

/// The context of the advice.
pub struct About<'a> {
    /// What the advice is for.
    pub of: &'a AdviceTarget,
    /// The machine.
    pub machine: &'a Topology,
    /// Whether the kernel's NUMA balancing is on.
    pub balancing: Option<bool>,
}

/// All advice as one document.
pub fn json(all: &[Advice], about: &About<'_>) -> Value {
    let programs: Vec<Value> = all.iter().map(|one| program(one, about)).collect();
    json!({ "numa_balancing": about.balancing, "programs": programs })
}

fn program(advice: &Advice, about: &About<'_>) -> Value {
    let pages = advice
        .pages
        .as_ref()
        .map(|pages| pages.iter().map(|(node, part)| json!({ "node": node.0, "part": part })).collect::<Vec<_>>());
    let threads: Vec<Value> =
        advice.threads.iter().map(|(node, count)| json!({ "node": node.0, "count": count })).collect();
    json!({
        "pid": advice.pid.0,
        "name": &*advice.name,
        "threads": threads,
        "pages": pages,
        "llc_misses_per_instruction": advice.misses,
        "kernel_brings_pages": advice.follows,
        "bound_by_owner": advice.pinned,
        "choices": advice.choices.iter().map(|one| choice(one, advice, about)).collect::<Vec<_>>(),
    })
}

fn choice(choice: &Choice, advice: &Advice, about: &About<'_>) -> Value {
    let (advised, nodes): (&str, Value) = match &choice.what {
        AdviceKind::Leave => ("leave", json!([])),
        AdviceKind::Bind(node) => ("bind", json!([node.0])),
        AdviceKind::Gather(node) => ("gather", json!([node.0])),
        AdviceKind::Interleave(nodes) => ("interleave", json!(nodes.iter().map(|node| node.0).collect::<Vec<_>>())),
        AdviceKind::Split(weights) => (
            "split",
            json!(weights.iter().map(|(node, weight)| json!({"node": node.0, "weight": weight})).collect::<Vec<_>>()),
        ),
    };
    json!({
        "advice": advised,
        "nodes": nodes,
        "gain": choice.gain,
        "gain_low": choice.range.0,
        "gain_high": choice.range.1,
        "gain_of_others": choice.others,
        "confidence": sure(choice.confidence),
        "command": command(choice, advice, about),
    })
}

/// The name of a degree of confidence.
pub const fn sure(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Low => "low",
        Confidence::Medium => "medium",
        Confidence::High => "high",
    }
}

/// The command to type; `None` to leave the program. Memory that is already allocated cannot be
/// spread over nodes from outside, so to spread it this is the command to start the program with.
pub fn command(choice: &Choice, advice: &Advice, about: &About<'_>) -> Option<String> {
    let (start, running) = match about.of {
        AdviceTarget::Command(_, typed) => (typed.as_str(), false),
        _ => ("COMMAND", true),
    };
    let pid = advice.pid;
    Some(match &choice.what {
        AdviceKind::Leave => return None,
        AdviceKind::Bind(node) if !running => format!("isobar run --node {node} -- {start}", node = node.0),
        AdviceKind::Bind(node) => {
            let cpus = about.machine.cpus_of_node(*node).map(CpuSet::to_string).unwrap_or_default();
            let taskset = format!("taskset -acp {cpus} {pid}");
            match away(*node, advice) {
                Some(from) => format!("{taskset} && migratepages {pid} {from} {}", node.0),
                None => taskset,
            }
        }
        AdviceKind::Gather(node) if !running => format!("numactl --preferred={} {start}", node.0),
        AdviceKind::Gather(node) => {
            format!("migratepages {pid} {} {}", away(*node, advice).unwrap_or_default(), node.0)
        }
        AdviceKind::Interleave(nodes) => format!("isobar run --interleave {} -- {start}", list(nodes)),
        AdviceKind::Split(weights) => {
            let weights: Vec<String> = weights.iter().map(|(node, weight)| format!("{}:{weight}", node.0)).collect();
            format!("echo weights {} > where.txt; isobar run --decision where.txt -- {start}", weights.join(","))
        }
    })
}

/// The nodes other than `node` on which the program has pages, as a list.
fn away(node: NodeId, advice: &Advice) -> Option<String> {
    let others: Vec<NodeId> =
        advice.pages.iter().flatten().filter(|(at, part)| *at != node && *part > 0.0).map(|(at, _)| *at).collect();
    (!others.is_empty()).then(|| list(&others))
}

fn list(nodes: &[NodeId]) -> String {
    nodes.iter().map(|node| node.0.to_string()).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::Pid;
    use isobar_model::topology::synthetic::synthetic;

    fn typed(what: AdviceKind, of: &AdviceTarget) -> Option<String> {
        let pages = Some(vec![(NodeId(0), 0.75), (NodeId(1), 0.25)]);
        let (threads, choices) = (vec![(NodeId(0), 1)], Vec::new());
        let (name, pid) = ("a;b".into(), Pid(7));
        let advice = Advice { pid, name, threads, pages, misses: 0.0, follows: false, pinned: false, choices };
        let choice = Choice { what, gain: 0.1, range: (0.0, 0.2), others: 0.0, confidence: Confidence::High };
        let machine = synthetic("node:2 core:4").unwrap();
        command(&choice, &advice, &About { of, machine: &machine, balancing: None })
    }

    #[test]
    fn a_running_process_is_moved_and_a_command_is_started_anew() {
        let running = AdviceTarget::Process(Pid(7));
        assert_eq!(typed(AdviceKind::Leave, &running), None);
        assert_eq!(typed(AdviceKind::Bind(NodeId(1)), &running).unwrap(), "taskset -acp 4-7 7 && migratepages 7 0 1");
        assert_eq!(typed(AdviceKind::Gather(NodeId(0)), &running).unwrap(), "migratepages 7 1 0");
        let both = vec![NodeId(0), NodeId(1)];
        assert_eq!(
            typed(AdviceKind::Interleave(both.clone()), &running).unwrap(),
            "isobar run --interleave 0,1 -- COMMAND"
        );
        let tried = AdviceTarget::Command(Pid(7), "./solver input.dat".into());
        assert_eq!(typed(AdviceKind::Bind(NodeId(1)), &tried).unwrap(), "isobar run --node 1 -- ./solver input.dat");
        let weights = vec![(NodeId(0), 8), (NodeId(1), 4)];
        assert_eq!(
            typed(AdviceKind::Split(weights), &tried).unwrap(),
            "echo weights 0:8,1:4 > where.txt; isobar run --decision where.txt -- ./solver input.dat"
        );
    }
}
