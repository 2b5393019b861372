//! Shows which pages were moved or would be moved, to people and to programs.

use super::plan::{Plan, count, on_nodes};
use super::subject::Subject;
use crate::text::{aligned, json_line, plain};
use isobar_linux::actuators::pages::place::Placed;
use isobar_model::NodeId;
use isobar_pages::{PageProfile, Transfer};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;

/// What the output is about.
pub struct Head<'a> {
    /// The process.
    pub subject: &'a Subject,
    /// The name of the mapping.
    pub policy: &'a str,
    /// The traced run, which names the structures.
    pub profile: &'a PageProfile,
    /// What was to be moved.
    pub plan: &'a Plan,
}

/// The result of the moves.
pub struct Done {
    /// The kernel's answer for each page.
    pub placed: Placed,
    /// Where each page of the plan is now.
    pub after: Vec<Option<NodeId>>,
}

/// The pages of a structure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    found: u64,
    not_found: u64,
    not_resident: u64,
    in_place: u64,
    owned: u64,
    /// Pages that are to be moved, or were moved.
    moved: u64,
    /// Pages that are not where they are wanted, although they were to be moved.
    stayed: u64,
}

fn rows(plan: &Plan, done: Option<&Done>) -> BTreeMap<u32, Row> {
    let mut rows: BTreeMap<u32, Row> = BTreeMap::new();
    for (at, page) in plan.pages.iter().enumerate() {
        let row = rows.entry(page.wanted.structure).or_default();
        let after = done.map(|done| done.after.get(at).copied().flatten());
        row.found += 1;
        let counter = match () {
            () if page.now.is_none() => &mut row.not_resident,
            () if page.owned => &mut row.owned,
            () if page.in_place(page.now) => &mut row.in_place,
            () if after.is_none_or(|after| page.in_place(after)) => &mut row.moved,
            () => &mut row.stayed,
        };
        *counter += 1;
    }
    for (structure, pages) in &plan.lost {
        rows.entry(*structure).or_default().not_found += pages;
    }
    rows
}

/// Prints the result.
///
/// # Errors
/// If the output cannot be written.
pub fn show(head: &Head<'_>, done: Option<&Done>, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    if json {
        writeln!(out, "{}", json_line(&document(head, done)))?;
        return Ok(());
    }
    let (subject, plan) = (head.subject, head.plan);
    let nodes: Vec<String> = subject.nodes.iter().map(NodeId::to_string).collect();
    let what = if done.is_some() { "" } else { "; dry run: nothing is moved" };
    let name = plain(&subject.name);
    writeln!(
        out,
        "process {} ({name}), policy {}, nodes {}{what}\n",
        subject.process.pid,
        head.policy,
        nodes.join(" ")
    )?;
    table(head, done).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    writeln!(out)?;
    for ((from, to), pages) in plan.by_nodes() {
        let verb = if done.is_some() { "to move" } else { "would move" };
        writeln!(out, "{verb} from node {from} to node {to}: {pages} pages")?;
    }
    for (policy, pages) in &plan.policies {
        writeln!(
            out,
            "left alone: {pages} pages under the owner's memory policy {} (--force moves them)",
            plain(policy)
        )?;
    }
    for (why, pages) in done.iter().flat_map(|done| &done.placed.stayed) {
        writeln!(out, "stayed: {pages} pages: {why}")?;
    }
    if subject.balancing {
        writeln!(
            out,
            "remark: NUMA balancing is on: the kernel may move pages again (kernel.numa_balancing = 0 stops it)"
        )?;
    }
    let by_node = |pages: &[u64]| pages.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    writeln!(out, "pages by node: {}", by_node(&before(head)))?;
    if let Some(done) = done {
        writeln!(out, "   afterwards: {}", by_node(&on_nodes(&subject.nodes, done.after.iter().copied())))?;
        writeln!(out, "to undo: isobar pages apply --undo {}", subject.process.pid)?;
    }
    Ok(())
}

fn before(head: &Head<'_>) -> Vec<u64> {
    on_nodes(&head.subject.nodes, head.plan.pages.iter().map(|page| page.now))
}

fn table(head: &Head<'_>, done: Option<&Done>) -> Vec<String> {
    let moved = if done.is_some() { "moved" } else { "to move" };
    let titles = ["structure", "found", "in place", moved, "stayed", "owner's", "not resident", "not found"];
    let cells = |(structure, row): (u32, Row)| {
        let counts = [row.found, row.in_place, row.moved, row.stayed, row.owned, row.not_resident, row.not_found];
        let name = plain(Transfer::name_of(head.profile, structure)).into_owned();
        [name].into_iter().chain(counts.iter().map(u64::to_string)).collect()
    };
    let mut lines = vec![titles.map(str::to_owned).to_vec()];
    lines.extend(rows(head.plan, done).into_iter().map(cells));
    aligned(&lines, &[0])
}

fn document(head: &Head<'_>, done: Option<&Done>) -> Value {
    let (subject, plan) = (head.subject, head.plan);
    let structure = |(structure, row): (u32, Row)| {
        json!({
            "name": Transfer::name_of(head.profile, structure),
            "found": row.found, "in_place": row.in_place, "moved": row.moved, "stayed": row.stayed,
            "owned": row.owned, "not_resident": row.not_resident, "not_found": row.not_found,
        })
    };
    let moves = plan.by_nodes().into_iter();
    let moves: Vec<Value> = moves.map(|((from, to), pages)| json!({"from": from, "to": to, "pages": pages})).collect();
    let after = done.map(|done| on_nodes(&subject.nodes, done.after.iter().copied()));
    json!({
        "pid": subject.process.pid,
        "name": subject.name,
        "policy": head.policy,
        "nodes": subject.nodes,
        "dry_run": done.is_none(),
        "structures": rows(plan, done).into_iter().map(structure).collect::<Vec<_>>(),
        "planned": moves,
        "pages_to_move": count(plan.moves.len()),
        "pages_moved": done.map(|done| done.placed.moved),
        "stayed": done.map(|done| &done.placed.stayed),
        "left": done.map(|done| done.placed.left),
        "policies": plan.policies,
        "numa_balancing": subject.balancing,
        "node_pages_before": before(head),
        "node_pages_after": after,
    })
}

#[cfg(test)]
mod tests {
    use super::super::plan::Found;
    use super::*;
    use isobar_pages::Wanted;

    fn page(structure: u32, to: u32, now: Option<u32>, owned: bool) -> Found {
        let wanted = Wanted { page: 1, node: 0, structure };
        Found { wanted, to: Some(NodeId(to)), now: now.map(NodeId), owned }
    }

    #[test]
    fn every_page_is_counted_once_by_what_became_of_it() {
        let pages = vec![
            page(0, 1, Some(1), false),
            page(0, 1, Some(0), false),
            page(0, 1, Some(0), false),
            page(0, 1, None, false),
            page(2, 1, Some(0), true),
        ];
        let plan = Plan { pages, lost: [(2, 7)].into(), ..Plan::default() };
        let dry = rows(&plan, None);
        assert_eq!(dry[&0], Row { found: 4, in_place: 1, moved: 2, not_resident: 1, ..Row::default() });
        assert_eq!(dry[&2], Row { found: 1, owned: 1, not_found: 7, ..Row::default() });
        let after = [1, 1, 0, 1, 0].map(|node| Some(NodeId(node))).to_vec();
        let wet = rows(&plan, Some(&Done { placed: Placed::default(), after }));
        assert_eq!((wet[&0].moved, wet[&0].stayed), (1, 1));
    }
}
