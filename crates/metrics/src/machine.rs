//! Families of the machine: nodes, caches, links, and whether contention matters. All of them are
//! of the last epoch.

use crate::family::{Families, Label, Named, label, named};
use isobar_model::num::{float, float_len};
use isobar_view::{Answer, Cluster, LinkView, LlcView, NodeView, Pair, View};

/// Maximum number of nodes up to which the latency of every pair is shown, because the number of
/// pairs grows with the square.
const MOST_NODES: usize = 16;

/// The families of a view.
pub fn families(view: &View, all: &mut Families) {
    nodes(&view.nodes, all);
    controllers(&view.nodes, all);
    latencies(view, all);
    caches(&view.llcs, all);
    links(&view.links, all);
    verdict(view, all);
}

fn of_nodes(all: &mut Families, nodes: &[NodeView], named: Named, figure: impl Fn(&NodeView) -> Option<f64>) {
    all.gauge(named, nodes.iter().map(|node| (vec![label("node", node.id.to_string())], figure(node))));
}

fn nodes(nodes: &[NodeView], all: &mut Families) {
    let mut add = |named, figure: fn(&NodeView) -> Option<f64>| of_nodes(all, nodes, named, figure);
    add(named("node_cpus", "", "CPUs of the node"), |node| Some(float_len(node.cpus)));
    add(
        named("node_cpu_busy", "ratio", "Fraction of the node's CPU time used by watched threads, in the last epoch"),
        |node| node.busy,
    );
    add(named("node_memory", "bytes", "Memory of the node"), |node| node.memory_bytes.map(float));
    add(named("node_memory_free", "bytes", "Memory of the node that is free"), |node| node.free_bytes.map(float));
    add(named("node_memory_used", "bytes", "Memory of the node that is not free"), |node| {
        Some(float(node.memory_bytes?.saturating_sub(node.free_bytes?)))
    });
}

fn controllers(nodes: &[NodeView], all: &mut Families) {
    let mut add = |named, figure: fn(&NodeView) -> Option<f64>| of_nodes(all, nodes, named, figure);
    add(
        named(
            "node_controller",
            "bytes_per_second",
            "Traffic of the watched programs through the node's memory controller",
        ),
        |node| node.bandwidth,
    );
    add(
        named(
            "node_controller_max",
            "bytes_per_second",
            "Maximum traffic of the node's memory controller: configured or measured, otherwise an estimate",
        ),
        |node| node.max_bandwidth,
    );
    add(
        named("node_controller_max_known", "", "1 if the maximum is configured or measured, 0 if it is an estimate"),
        |node| node.max_bandwidth.map(|_| if node.max_is_told { 1.0 } else { 0.0 }),
    );
    add(
        named("node_controller_utilization", "ratio", "Traffic of the node's memory controller divided by its maximum"),
        NodeView::load,
    );
}

fn seconds(nanoseconds: f64) -> f64 {
    nanoseconds / 1e9
}

fn latencies(view: &View, all: &mut Families) {
    let nodes = &view.nodes;
    let mut add = |named, figure: fn(&NodeView) -> Option<f64>| of_nodes(all, nodes, named, figure);
    add(
        named(
            "node_memory_latency",
            "seconds",
            "Latency of the node's memory from its nearest CPUs, as probed under load",
        ),
        |node| node.latency_ns.map(seconds),
    );
    add(named("node_memory_idle_latency", "seconds", "The same latency on the idle machine"), |node| {
        node.idle_latency_ns.map(seconds)
    });
    add(
        named("node_memory_latency_over_idle", "ratio", "Probed latency divided by idle latency of the node's memory"),
        |node| Some(node.latency_ns? / node.idle_latency_ns.filter(|idle| *idle > 0.0)?),
    );
    if nodes.len() > MOST_NODES {
        return;
    }
    let between = |from: String, to: String| vec![label("from_node", from), label("to_node", to)];
    let pair = |pair: &Pair| (between(pair.from.to_string(), pair.to.to_string()), Some(seconds(pair.latency_ns)));
    let help = "Latency from CPUs of a node to memory of a node, as probed under load (machines of up to 16 nodes)";
    all.gauge(named("memory_latency", "seconds", help), view.latency.iter().map(pair));
}

fn caches(llcs: &[LlcView], all: &mut Families) {
    let own = |llc: &LlcView| vec![label("llc", llc.id.to_string())];
    let mut add =
        |named, figure: fn(&LlcView) -> Option<f64>| all.gauge(named, llcs.iter().map(|llc| (own(llc), figure(llc))));
    add(
        named(
            "llc_pressure_mpki",
            "",
            "Misses per 1000 instructions, summed over the threads on the last-level cache, remote ones weighted by their \
             NUMA penalty",
        ),
        |llc| llc.pressure,
    );
    add(named("llc_threads", "", "Watched threads that run on the last-level cache"), |llc| {
        Some(float_len(llc.threads))
    });
    add(named("llc_cpus", "", "CPUs that share the last-level cache"), |llc| Some(float_len(llc.cpus)));
    add(named("llc_size", "bytes", "Size of the last-level cache"), |llc| llc.size_bytes.map(float));
    add(named("llc_ways", "", "Ways of the last-level cache, if they can be allocated"), |llc| llc.ways.map(f64::from));
    clusters(llcs, all);
}

fn clusters(llcs: &[LlcView], all: &mut Families) {
    let each = || llcs.iter().flat_map(|llc| llc.clusters.iter().map(move |cluster| (llc, cluster)));
    let own = |llc: &LlcView, cluster: &Cluster| -> Vec<Label> {
        vec![label("llc", llc.id.to_string()), label("cluster", &cluster.name)]
    };
    let ways = each().map(|(llc, cluster)| (own(llc, cluster), Some(f64::from(cluster.way_mask.count_ones()))));
    all.gauge(named("llc_cluster_ways", "", "Ways that isobar gave to a cluster of threads"), ways);
    let threads = each().map(|(llc, cluster)| (own(llc, cluster), Some(float_len(cluster.threads.len()))));
    all.gauge(named("llc_cluster_threads", "", "Threads of a cluster that isobar gave ways to"), threads);
}

fn links(links: &[LinkView], all: &mut Families) {
    let own = |link: &LinkView| vec![label("from_node", link.from.to_string()), label("to_node", link.to.to_string())];
    let mut add = |named, figure: fn(&LinkView) -> f64| {
        all.gauge(named, links.iter().map(|link| (own(link), Some(figure(link)))));
    };
    add(
        named(
            "link",
            "bytes_per_second",
            "Traffic over the link between two nodes, derived from misses and the location of pages",
        ),
        |link| link.bandwidth,
    );
    add(named("link_max", "bytes_per_second", "Maximum traffic of the link between two nodes, an estimate"), |link| {
        link.max_bandwidth
    });
    add(named("link_utilization", "ratio", "Traffic of the link divided by its maximum"), LinkView::load);
}

fn verdict(view: &View, all: &mut Families) {
    let contended = match view.verdict.answer {
        Answer::Yes => Some(1.0),
        Answer::No => Some(0.0),
        Answer::NotMeasurable => None,
    };
    all.one(
        named("contended", "", "Whether NUMA or cache contention matters now, by isobar's verdict; absent if unknown"),
        contended,
    );
    let findings = contended.map(|_| float_len(view.verdict.findings.len()));
    all.one(named("findings", "", "Figures of the machine that exceed harmless levels"), findings);
    let proposed = view.proposed.as_ref();
    all.one(
        named(
            "proposed_gain",
            "ratio",
            "Predicted gain of the changes that policy isobar would make now; 1 is one program twice as fast",
        ),
        proposed.map(|proposed| proposed.gain),
    );
    all.one(named("pages_under_way", "", "Pages whose migration is in progress"), Some(float(view.pages_under_way)));
}
