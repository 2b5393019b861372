//! Routes between any two nodes: the path that the file names, or else the shortest path over the
//! links. Ties go to the path whose nodes come first in the list, so that a machine file means the
//! same everywhere.

use super::spec::{LinkSpec, RouteSpec};
use crate::error::SimError;
use isobar_model::NodeId;

/// (from, to, resource) of each link direction.
type Edge = (usize, usize, usize);

/// `[from][to]` = the link directions that data passes, as positions among the machine's resources.
/// After the `ids.len()` controllers come two positions for each link: the direction from `a` to
/// `b`, then the one from `b` to `a`.
pub(super) fn routes(
    file: &str,
    ids: &[NodeId],
    links: &[LinkSpec],
    named: &[RouteSpec],
) -> Result<Vec<Vec<Vec<usize>>>, SimError> {
    let edges = edges(file, ids, links)?;
    let mut routes = shortest(file, ids, &edges)?;
    for route in named {
        let (from, to) = (position(file, "route", ids, route.from)?, position(file, "route", ids, route.to)?);
        routes[from][to] = along(file, ids, &edges, route)?;
    }
    Ok(routes)
}

fn shortest(file: &str, ids: &[NodeId], edges: &[Edge]) -> Result<Vec<Vec<Vec<usize>>>, SimError> {
    let all = (0..ids.len()).map(|from| {
        let reached = search(from, ids.len(), edges);
        let route = |(to, route): (usize, Option<Vec<usize>>)| {
            let problem = || format!("leave no route from node {} to node {}; add one", ids[from], ids[to]);
            route.ok_or_else(|| SimError::value(file, "link", problem()))
        };
        reached.into_iter().enumerate().map(route).collect()
    });
    all.collect()
}

/// The link directions of a route that the file names. If there are two links between the same
/// nodes, the first is used.
fn along(file: &str, ids: &[NodeId], edges: &[Edge], route: &RouteSpec) -> Result<Vec<usize>, SimError> {
    let stops: Vec<_> = [&[route.from], route.via.as_slice(), &[route.to]].concat();
    let hop = |pair: &[NodeId]| {
        let (from, to) = (position(file, "route.via", ids, pair[0])?, position(file, "route.via", ids, pair[1])?);
        let link = edges.iter().find(|(a, b, _)| (*a, *b) == (from, to));
        let problem = || format!("goes from node {} to node {}, which no link joins; add one", pair[0], pair[1]);
        link.map(|(_, _, resource)| *resource).ok_or_else(|| SimError::value(file, "route.via", problem()))
    };
    stops.windows(2).map(hop).collect()
}

fn position(file: &str, key: &str, ids: &[NodeId], id: NodeId) -> Result<usize, SimError> {
    let missing = || SimError::value(file, key, format!("names node {id}, which is not listed"));
    ids.iter().position(|other| *other == id).ok_or_else(missing)
}

fn edges(file: &str, ids: &[NodeId], links: &[LinkSpec]) -> Result<Vec<Edge>, SimError> {
    let find = |id: NodeId| position(file, "link", ids, id);
    let mut edges = Vec::new();
    for (index, link) in links.iter().enumerate() {
        let (a, b, first) = (find(link.a)?, find(link.b)?, ids.len() + 2 * index);
        edges.extend([(a, b, first), (b, a, first + 1)]);
    }
    edges.sort_unstable();
    Ok(edges)
}

/// Breadth-first search, neighbours ascending.
fn search(from: usize, nodes: usize, edges: &[Edge]) -> Vec<Option<Vec<usize>>> {
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

#[cfg(test)]
mod tests {
    use crate::machine::MachineSpec;

    fn square(route: &str) -> Result<MachineSpec, crate::SimError> {
        let text = include_str!("../../../../machines/barcelona-4x4.toml");
        MachineSpec::from_toml("m.toml", &format!("{text}\n{route}"))
    }

    #[test]
    fn a_named_route_replaces_the_shortest_one_way() {
        // Links by position: 0-1, 0-2, 1-3, 2-3. They follow the four controllers, two directions
        // each.
        let machine = square("[[route]]\nfrom = 0\nto = 3\nvia = [2]").unwrap();
        assert_eq!(machine.memory.route(0, 3), [6, 10]);
        assert_eq!(machine.memory.route(3, 0), [9, 5]);
        assert_eq!(square("").unwrap().memory.route(0, 3), [4, 8]);
    }

    #[test]
    fn a_route_that_no_link_carries_is_refused() {
        let error = square("[[route]]\nfrom = 0\nto = 2\nvia = [3]").unwrap_err().to_string();
        assert_eq!(error, "m.toml: `route.via` goes from node 0 to node 3, which no link joins; add one");
        assert!(square("[[route]]\nfrom = 0\nto = 9\nvia = []").unwrap_err().to_string().contains("node 9"));
        assert!(square("[[route]]\nfrom = 0\nto = 0\nvia = []").is_err());
    }
}
