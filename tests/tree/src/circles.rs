//! Modules that import each other in a circle.

use crate::source::{Edges, Module};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

/// Groups of modules in which each module reaches every other.
pub fn circles(edges: &Edges) -> Vec<Vec<&Module>> {
    let graph: DiGraphMap<&Module, ()> = edges.iter().map(|(from, to)| (from, to)).collect();
    tarjan_scc(&graph).into_iter().filter(|group| group.len() > 1).collect()
}

/// What the modules of a circle import from each other, one line per import.
pub fn described(package: &str, circle: &[&Module], edges: &Edges) -> String {
    let name = |module: &Module| if module.is_empty() { "the root".to_owned() } else { module.join("::") };
    let inside = edges.iter().filter(|(from, to)| circle.contains(&from) && circle.contains(&to));
    let lines: String = inside.map(|(from, to)| format!("\n    {} -> {}", name(from), name(to))).collect();
    format!("\n{package}:{lines}")
}

/// If a circle consists of one module and modules below it, that module.
pub fn family<'a>(circle: &[&'a Module]) -> Option<&'a Module> {
    let parent = *circle.iter().min_by_key(|module| module.len())?;
    let below = |module: &&&Module| module.len() > parent.len() && module.starts_with(parent);
    (circle.iter().filter(below).count() == circle.len() - 1).then_some(parent)
}
