//! Routes between any two nodes: the path that the file names, or else the shortest path over the
//! links. Ties go to the path whose nodes have the lowest ids, so that a machine file means the
//! same everywhere. The contention simulator has the same rules.

use crate::error::SpecError;
use crate::spec::{Route, Spec};

/// (from, to, resource) of each link direction.
type Edge = (usize, usize, usize);

/// `[from][to]` = the link directions that data passes, as resources.
pub(crate) type Routes = Vec<Vec<Vec<usize>>>;

/// The routes of a machine. Resources are numbered as follows: one controller for each node, then,
/// for each link, the direction from `a` to `b` and the one from `b` to `a`.
pub(crate) fn routes(spec: &Spec, file: &str) -> Result<Routes, SpecError> {
    let edges = edges(spec, file)?;
    let mut routes = shortest(file, spec.node.len(), &edges)?;
    for route in &spec.route {
        let from = position(file, "route.from", spec, route.from)?;
        let to = position(file, "route.to", spec, route.to)?;
        routes[from][to] = along(spec, file, &edges, route)?;
    }
    Ok(routes)
}

/// The two ends of each link direction, by resource from the number of nodes on.
pub(crate) fn directions(spec: &Spec) -> Vec<(u32, u32)> {
    spec.link.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]).collect()
}

impl Spec {
    /// The link directions, each from a node id to a node id, that data passes on its way from the
    /// memory of one node (by position) to a CPU of another.
    ///
    /// # Errors
    /// No route of the spec joins the nodes, or a route is named that no link carries.
    pub fn path(&self, from: usize, to: usize) -> Result<Vec<(u32, u32)>, SpecError> {
        let (routes, directions) = (routes(self, &self.name)?, directions(self));
        let resources = routes.get(from).and_then(|row| row.get(to)).map_or(&[][..], Vec::as_slice);
        Ok(resources.iter().map(|resource| directions[resource - self.node.len()]).collect())
    }
}

fn edges(spec: &Spec, file: &str) -> Result<Vec<Edge>, SpecError> {
    let mut edges = Vec::new();
    for (index, link) in spec.link.iter().enumerate() {
        let (a, b) = (position(file, "link.a", spec, link.a)?, position(file, "link.b", spec, link.b)?);
        if a == b {
            return Err(SpecError::value(file, "link.b", format!("joins node {b} to itself; name another node")));
        }
        let first = spec.node.len() + 2 * index;
        edges.extend([(a, b, first), (b, a, first + 1)]);
    }
    edges.sort_unstable();
    Ok(edges)
}

fn position(file: &str, key: &str, spec: &Spec, id: u32) -> Result<usize, SpecError> {
    let missing =
        || SpecError::value(file, key, format!("names node {id}, which is not listed; add it or name another"));
    spec.node.iter().position(|node| node.id == id).ok_or_else(missing)
}

fn shortest(file: &str, nodes: usize, edges: &[Edge]) -> Result<Routes, SpecError> {
    let all = (0..nodes).map(|from| {
        let reached = search(from, nodes, edges);
        let route = |(to, route): (usize, Option<Vec<usize>>)| {
            let problem = || format!("leave no route from node {from} to node {to}; add one");
            route.ok_or_else(|| SpecError::value(file, "link", problem()))
        };
        reached.into_iter().enumerate().map(route).collect()
    });
    all.collect()
}

/// The link directions of a route that the file names. If there are two links between the same
/// nodes, the first is used.
fn along(spec: &Spec, file: &str, edges: &[Edge], route: &Route) -> Result<Vec<usize>, SpecError> {
    let stops: Vec<_> = [&[route.from], route.via.as_slice(), &[route.to]].concat();
    let hop = |pair: &[u32]| {
        let from = position(file, "route.via", spec, pair[0])?;
        let to = position(file, "route.via", spec, pair[1])?;
        let link = edges.iter().find(|(a, b, _)| (*a, *b) == (from, to));
        let problem = || format!("goes from node {from} to node {to}, which no link joins; add one");
        link.map(|(_, _, resource)| *resource).ok_or_else(|| SpecError::value(file, "route.via", problem()))
    };
    stops.windows(2).map(hop).collect()
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
    use crate::{Link, Route, Spec};

    /// Four nodes in a square with links 0-1, 0-2, 1-3, 2-3. They follow the four controllers, two
    /// directions each.
    fn square(routes: &[(u32, u32, &[u32])]) -> Spec {
        let mut spec = Spec::parse(include_str!("../../machines/small-2x2.toml"), "square").unwrap();
        for id in [2, 3] {
            spec.node.push(crate::Node { id, cpus: crate::CpuList::default(), ..spec.node[0].clone() });
        }
        let link = |(a, b): (u32, u32)| Link { a, b, mb_per_s_each_way: 500.0 };
        spec.link = [(0, 1), (0, 2), (1, 3), (2, 3)].map(link).to_vec();
        spec.latency.ns = vec![vec![1000.0; 4]; 4];
        spec.route = routes.iter().map(|(from, to, via)| Route { from: *from, to: *to, via: via.to_vec() }).collect();
        spec
    }

    #[test]
    fn the_shortest_route_is_taken_by_the_lowest_ids_and_a_named_one_one_way() {
        let routes = |spec: &Spec| super::routes(spec, "m").unwrap();
        assert_eq!(routes(&square(&[]))[0][3], [4, 8]);
        let named = routes(&square(&[(0, 3, &[2])]));
        assert_eq!((named[0][3].as_slice(), named[3][0].as_slice()), ([6, 10].as_slice(), [9, 5].as_slice()));
        assert!(named[2][2].is_empty());
        let path = |from, to| square(&[(0, 3, &[2])]).path(from, to).unwrap();
        assert_eq!((path(0, 3), path(1, 1)), (vec![(0, 2), (2, 3)], vec![]));
    }

    #[test]
    fn a_route_that_no_link_carries_is_refused() {
        let error = |spec: &Spec| spec.validate().unwrap_err().to_string();
        let wrong = error(&square(&[(0, 2, &[3])]));
        assert_eq!(wrong, "small-2x2: `route.via` goes from node 0 to node 3, which no link joins; add one");
        let wrong = error(&square(&[(0, 9, &[])]));
        assert_eq!(wrong, "small-2x2: `route.to` names node 9, which is not listed; add it or name another");
        let mut cut = square(&[]);
        cut.link.truncate(1);
        assert_eq!(error(&cut), "small-2x2: `link` leave no route from node 0 to node 2; add one");
    }
}
