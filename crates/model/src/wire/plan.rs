//! Plans as JSON: what `isobar decide` prints and what a recording holds.

use super::{WireError, read};
use crate::plan::Plan;

/// The document of a plan, in one line.
#[must_use]
pub fn plan_to_json(plan: &Plan) -> serde_json::Value {
    serde_json::to_value(plan).unwrap_or_default()
}

/// Reads one plan. Whether it fits a machine is checked by [`Plan::validate`].
///
/// # Errors
/// [`WireError`], one line that names the key.
pub fn plan_from_json(text: &str) -> Result<Plan, WireError> {
    read(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;
    use crate::plan::{Action, PageSelection};
    use crate::units::Pages;

    /// Every kind of action; each key that may be absent is absent once.
    const PLAN: &str = concat!(
        r#"{"policy":"dino","actions":[{"kind":"move_thread","pid":1,"tid":1,"cpu":3,"reason":"a"},"#,
        r#"{"kind":"move_thread","pid":1,"tid":2,"cpu":3,"cpus":[2,3,8],"reason":"a"},"#,
        r#"{"kind":"migrate_pages","pid":1,"from_node":0,"to_node":1,"pages":4096,"reason":"a"},"#,
        r#"{"kind":"migrate_pages","pid":1,"from_node":0,"to_node":1,"pages":4,"select":"resident_set","for_tid":2,"reason":"a"},"#,
        r#"{"kind":"withdraw_pages","pid":1,"reason":"a"},"#,
        r#"{"kind":"withdraw_pages","pid":1,"from_node":0,"to_node":1,"reason":"a"},"#,
        r#"{"kind":"set_ways","llc":0,"cluster":"streaming-0","way_mask":"0x1f","threads":[7],"reason":"a"},"#,
        r#"{"kind":"set_ways","llc":1,"cluster":"s","way_mask":"0x1","memory_bandwidth_percent":40,"threads":[],"reason":"a"},"#,
        r#"{"kind":"set_allocation","pid":1,"node":1,"reason":"a"}],"notes":["b"],"#,
        r#""predictions":[{"change":1,"actions":[0,1],"gain":0.5,"programs":[{"pid":1,"gain":0.5}]}],"#,
        r#""effects":[{"change":1,"predicted":0.5,"measured":0.25,"error":0.125,"disturbed":false,"kept":true,"#,
        r#""programs":[{"pid":1,"gain":0.25}]}]}"#
    );

    #[test]
    fn every_kind_of_action_survives_the_round_trip() {
        let plan = plan_from_json(PLAN).unwrap();
        assert_eq!(plan_to_json(&plan).to_string(), PLAN);
        let (from, to, select) = (NodeId(0), NodeId(1), PageSelection::AroundSamples);
        let (pid, pages, reason) = (crate::ids::Pid(1), Pages(4096), "a".to_owned());
        let migrate = Action::MigratePages { pid, from, to, pages, select, for_thread: None, reason };
        assert_eq!(plan.actions[2], migrate);
        assert!(matches!(plan.actions[6], Action::SetWays { way_mask: 0x1f, memory_bandwidth_percent: None, .. }));
        let said = plan_from_json(&PLAN.replace("0x1f", "0xg")).unwrap_err().to_string();
        assert!(said.contains("`0xg` is no mask: expected hexadecimal such as `0x7ff`"), "{said}");
    }
}
