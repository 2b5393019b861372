//! Routes: the shortest path over the links between any two nodes, ties to the path whose nodes come first in the list, so that a
//! machine file says the same everywhere.

use super::spec::LinkSpec;
use crate::error::SimError;
use isobar_model::NodeId;

/// `[from][to]` = the link directions that data passes, as positions among the machine's resources: after the `ids.len()`
/// controllers come, for each link, the direction from `a` to `b` and the one from `b` to `a`.
pub(super) fn shortest(file: &str, ids: &[NodeId], links: &[LinkSpec]) -> Result<Vec<Vec<Vec<usize>>>, SimError> {
    let edges = edges(file, ids, links)?;
    let all = (0..ids.len()).map(|from| {
        let reached = search(from, ids.len(), &edges);
        let route = |(to, route): (usize, Option<Vec<usize>>)| {
            let problem = || format!("leave no route from node {} to node {}; add one", ids[from], ids[to]);
            route.ok_or_else(|| SimError::value(file, "link", problem()))
        };
        reached.into_iter().enumerate().map(route).collect()
    });
    all.collect()
}

/// (from, to, resource) of each direction.
fn edges(file: &str, ids: &[NodeId], links: &[LinkSpec]) -> Result<Vec<(usize, usize, usize)>, SimError> {
    let find = |id: NodeId| {
        let missing = || SimError::value(file, "link", format!("names node {id}, which is not listed"));
        ids.iter().position(|other| *other == id).ok_or_else(missing)
    };
    let mut edges = Vec::new();
    for (index, link) in links.iter().enumerate() {
        let (a, b, first) = (find(link.a)?, find(link.b)?, ids.len() + 2 * index);
        edges.extend([(a, b, first), (b, a, first + 1)]);
    }
    edges.sort_unstable();
    Ok(edges)
}

/// Breadth first, neighbours ascending.
fn search(from: usize, nodes: usize, edges: &[(usize, usize, usize)]) -> Vec<Option<Vec<usize>>> {
    let mut routes: Vec<Option<Vec<usize>>> = vec![None; nodes];
    routes[from] = Some(Vec::new());
    let mut queue = std::collections::VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        for (_, to, resource) in edges.iter().filter(|(a, _, _)| *a == at) {
            if routes[*to].is_none() {
                let mut route = routes[at].clone().unwrap_or_default();
                route.push(*resource);
                routes[*to] = Some(route);
                queue.push_back(*to);
            }
        }
    }
    routes
}
