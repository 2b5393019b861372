//! Plans as JSON: what `isobar decide` prints and a recording holds.

use super::machine::mask;
use super::{WireError, read};
use crate::ids::{CpuId, LlcId, NodeId, Pid, Tid};
use crate::plan::{Action, PageSelection, Plan};
use crate::units::Pages;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanDoc {
    policy: String,
    actions: Vec<ActionDoc>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum ActionDoc {
    MoveThread {
        pid: Pid,
        tid: Tid,
        cpu: CpuId,
        reason: String,
    },
    MigratePages {
        pid: Pid,
        from_node: NodeId,
        to_node: NodeId,
        pages: u64,
        #[serde(default, skip_serializing_if = "is_default")]
        select: SelectDoc,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_tid: Option<Tid>,
        reason: String,
    },
    SetWays {
        llc: LlcId,
        cluster: String,
        way_mask: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory_bandwidth_percent: Option<u32>,
        threads: Vec<Tid>,
        reason: String,
    },
    SetAllocation {
        pid: Pid,
        node: NodeId,
        reason: String,
    },
}

#[derive(Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SelectDoc {
    #[default]
    AroundSamples,
    ResidentSet,
}

fn is_default(select: &SelectDoc) -> bool {
    *select == SelectDoc::default()
}

/// The document of a plan, one line.
#[must_use]
pub fn plan_to_json(plan: &Plan) -> serde_json::Value {
    let actions = plan.actions.iter().map(to_doc).collect();
    let doc = PlanDoc { policy: plan.policy.clone(), actions, notes: plan.notes.clone() };
    serde_json::to_value(doc).unwrap_or_default()
}

/// Reads one plan; whether it fits a machine is for [`Plan::validate`] to say.
///
/// # Errors
/// [`WireError`], one line that names the key.
pub fn plan_from_json(text: &str) -> Result<Plan, WireError> {
    let doc: PlanDoc = read(text)?;
    let actions = doc.actions.into_iter().map(from_doc).collect::<Result<_, _>>()?;
    Ok(Plan { policy: doc.policy, actions, notes: doc.notes })
}

fn to_doc(action: &Action) -> ActionDoc {
    match action.clone() {
        Action::MoveThread { pid, tid, cpu, reason } => ActionDoc::MoveThread { pid, tid, cpu, reason },
        Action::MigratePages { pid, from, to, pages, select, for_thread, reason } => ActionDoc::MigratePages {
            pid,
            from_node: from,
            to_node: to,
            pages: pages.0,
            select: match select {
                PageSelection::AroundSamples => SelectDoc::AroundSamples,
                PageSelection::ResidentSet => SelectDoc::ResidentSet,
            },
            for_tid: for_thread,
            reason,
        },
        Action::SetWays { llc, cluster, way_mask, memory_bandwidth_percent, threads, reason } => {
            let way_mask = format!("{way_mask:#x}");
            ActionDoc::SetWays { llc, cluster, way_mask, memory_bandwidth_percent, threads, reason }
        }
        Action::SetAllocation { pid, node, reason } => ActionDoc::SetAllocation { pid, node, reason },
    }
}

fn from_doc(doc: ActionDoc) -> Result<Action, WireError> {
    Ok(match doc {
        ActionDoc::MoveThread { pid, tid, cpu, reason } => Action::MoveThread { pid, tid, cpu, reason },
        ActionDoc::MigratePages { pid, from_node, to_node, pages, select, for_tid, reason } => Action::MigratePages {
            pid,
            from: from_node,
            to: to_node,
            pages: Pages(pages),
            select: match select {
                SelectDoc::AroundSamples => PageSelection::AroundSamples,
                SelectDoc::ResidentSet => PageSelection::ResidentSet,
            },
            for_thread: for_tid,
            reason,
        },
        ActionDoc::SetWays { llc, cluster, way_mask, memory_bandwidth_percent, threads, reason } => {
            let way_mask = mask("way_mask", &way_mask)?;
            Action::SetWays { llc, cluster, way_mask, memory_bandwidth_percent, threads, reason }
        }
        ActionDoc::SetAllocation { pid, node, reason } => Action::SetAllocation { pid, node, reason },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_action_survives_the_round_trip() {
        let reason = || "because".to_owned();
        let migrate = |select, for_thread| Action::MigratePages {
            pid: Pid(1),
            from: NodeId(0),
            to: NodeId(1),
            pages: Pages(4096),
            select,
            for_thread,
            reason: reason(),
        };
        let plan = Plan {
            actions: vec![
                Action::MoveThread { pid: Pid(1), tid: Tid(1), cpu: CpuId(3), reason: reason() },
                migrate(PageSelection::AroundSamples, None),
                migrate(PageSelection::ResidentSet, Some(Tid(2))),
                Action::SetWays {
                    llc: LlcId(0),
                    cluster: "streaming-0".into(),
                    way_mask: 3,
                    memory_bandwidth_percent: None,
                    threads: vec![Tid(7)],
                    reason: reason(),
                },
                Action::SetWays {
                    llc: LlcId(1),
                    cluster: "streaming-0".into(),
                    way_mask: 1,
                    memory_bandwidth_percent: Some(40),
                    threads: vec![Tid(8)],
                    reason: reason(),
                },
                Action::SetAllocation { pid: Pid(1), node: NodeId(1), reason: reason() },
            ],
            ..Plan::nothing("dino")
        };
        let text = plan_to_json(&plan).to_string();
        assert_eq!(plan_from_json(&text).unwrap(), plan);
        let plain = r#"{"kind":"migrate_pages","pid":1,"from_node":0,"to_node":1,"pages":4096,"reason":"because"}"#;
        let first: serde_json::Value = serde_json::from_str(plain).unwrap();
        assert_eq!(plan_to_json(&plan)["actions"][1], first);
        assert_eq!(plan_to_json(&plan)["actions"][3]["way_mask"], "0x3");
        assert_eq!(plan_to_json(&plan)["actions"][3].get("memory_bandwidth_percent"), None);
        assert_eq!(plan_to_json(&plan)["actions"][4]["memory_bandwidth_percent"], 40);
    }
}
