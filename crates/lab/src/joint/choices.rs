//! The places where the pages of an application may be.

use isobar_sim::Workload;
use isobar_sim::arrangement::{Arranging, Pages};

/// A place for an application's pages, with its name.
pub struct Choice {
    pub name: String,
    pub pages: Pages,
}

/// All places where an application's pages may be; each place once.
pub fn choices(workload: &Workload, arranging: &Arranging<'_>, app: &isobar_sim::App) -> Vec<Choice> {
    let nodes = workload.machine.topology.nodes();
    let on = |node: usize| (0..nodes.len()).map(|other| if other == node { 1.0 } else { 0.0 }).collect();
    let mut all = vec![
        Choice { name: "left".to_owned(), pages: arranging.left(app) },
        Choice { name: "with the threads".to_owned(), pages: Pages::WithThreads },
        Choice { name: "split".to_owned(), pages: arranging.split() },
    ];
    let one = |(position, node): (usize, &isobar_model::topology::Node)| Choice {
        name: format!("on node {}", node.id),
        pages: Pages::On(on(position)),
    };
    all.extend(nodes.iter().enumerate().map(one));
    let mut choices: Vec<Choice> = Vec::new();
    for choice in all {
        if choices.iter().all(|other| other.pages != choice.pages) {
            choices.push(choice);
        }
    }
    choices
}
