//! The machine of the simulator of which a machine of numasim is a scaled copy: the inverse of
//! `numasim machine NAME`. Time is divided by the time scale, capacities are multiplied by the
//! cache scale, so that cycles, ways and all ratios are those of the guest.
//!
//! What the simulator has no word for is left out: private caches and what an LLC hit costs are in
//! a program's base CPI (derive.rs), streams in its misses in flight.

use isobar_sim::MachineSpec;
use numasim_lab::LabError;
use numasim_model::{Llc, Spec};
use toml::{Table, Value};

const KIB_PER_MIB: f64 = 1024.0;

/// The simulator's machine.
///
/// # Errors
/// The simulator refuses it.
pub fn twin(spec: &Spec) -> Result<MachineSpec, LabError> {
    let text = toml::to_string(&machine(spec)).map_err(|error| LabError::input(&spec.name, error.to_string()))?;
    MachineSpec::from_toml(&spec.name, &text).map_err(|error| LabError::input(&spec.name, error.to_string()))
}

/// MiB of the real machine for a number of KiB here.
#[must_use]
pub fn real_mib(spec: &Spec, kib: f64) -> f64 {
    kib / KIB_PER_MIB * spec.cache_scale
}

fn machine(spec: &Spec) -> Table {
    let ns = |guest: f64| Value::Float(guest / spec.time_scale);
    let queue = [("controller_ns", ns(spec.queue.controller_ns)), ("link_ns", ns(spec.queue.link_ns))];
    let rows = spec.latency.ns.iter().map(|row| Value::Array(row.iter().copied().map(ns).collect()));
    table([
        ("clock_ghz", Value::Float(spec.clock_mhz * spec.time_scale / 1000.0)),
        ("queue", Value::Table(table(queue))),
        ("node", Value::Array(nodes(spec))),
        ("llc", Value::Array(spec.llc.iter().map(|llc| cache(spec, llc)).collect())),
        ("link", Value::Array(links(spec))),
        ("route", Value::Array(routes(spec))),
        ("latency", Value::Table(table([("ns", Value::Array(rows.collect()))]))),
    ])
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> Table {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Guest MB/s as GB/s of the real machine.
fn gb(spec: &Spec, mb_per_s: f64) -> Value {
    Value::Float(mb_per_s * spec.time_scale / 1000.0)
}

fn whole(number: u32) -> Value {
    Value::Integer(i64::from(number))
}

fn nodes(spec: &Spec) -> Vec<Value> {
    let gib = |mib: u32| (f64::from(mib) * spec.cache_scale / KIB_PER_MIB).max(1.0);
    let node = |node: &numasim_model::Node| {
        let memory = Value::Integer(i64::try_from(isobar_model::num::round(gib(node.memory_mib))).unwrap_or(1));
        Value::Table(table([("id", whole(node.id)), ("memory_gib", memory), ("gb_per_s", gb(spec, node.mb_per_s))]))
    };
    spec.node.iter().map(node).collect()
}

fn cache(spec: &Spec, llc: &Llc) -> Value {
    let first = llc.cpus.as_slice().first().copied().unwrap_or_default();
    let node = crate::file::node_of(spec, isobar_model::num::narrow(first)).unwrap_or(0);
    Value::Table(table([
        ("id", whole(llc.id)),
        ("node", whole(node)),
        ("size_mib", Value::Float(real_mib(spec, f64::from(llc.size_kib)))),
        ("ways", whole(llc.ways)),
        ("clos", whole(llc.clos)),
        ("cpus", Value::String(llc.cpus.to_string())),
    ]))
}

fn links(spec: &Spec) -> Vec<Value> {
    let link = |link: &numasim_model::Link| {
        let rate = gb(spec, link.mb_per_s_each_way);
        Value::Table(table([("a", whole(link.a)), ("b", whole(link.b)), ("gb_per_s_each_way", rate)]))
    };
    spec.link.iter().map(link).collect()
}

fn routes(spec: &Spec) -> Vec<Value> {
    let route = |route: &numasim_model::Route| {
        let via = Value::Array(route.via.iter().copied().map(whole).collect());
        Value::Table(table([("from", whole(route.from)), ("to", whole(route.to)), ("via", via)]))
    };
    spec.route.iter().map(route).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::NodeId;
    use numasim_lab::experiment::Scale;
    use numasim_lab::machine::scaled;

    /// There and back: 2.27 GHz, 50 and 90 ns, 11.72 GB/s a direction; 20.48 GB/s a node, of which
    /// half makes a wait of 10 * 0.25 / 0.5 = 5 ns.
    #[test]
    fn the_twin_of_a_scaled_machine_is_the_machine() {
        let twin = twin(&scaled("nehalem-2x4", Scale::default()).unwrap()).unwrap();
        let real = isobar_sim::machine::find("nehalem-2x4").unwrap();
        assert!((twin.hertz / real.hertz - 1.0).abs() < 1e-12);
        for (a, b) in twin.idle_latency().iter().flatten().zip(real.idle_latency().iter().flatten()) {
            assert!((a.0 - b.0).abs() < 1e-9);
        }
        assert!((twin.links()[0].bandwidth.0 / 11.72e9 - 1.0).abs() < 1e-12);
        let loaded = twin.latency_under_load(NodeId(0), NodeId(0), 0.5).unwrap().0;
        assert!((loaded - 55.0).abs() < 1e-9, "{loaded}");
        let (a, b) = (twin.topology.llcs(), real.topology.llcs());
        assert_eq!((a.len(), a[0].size, a[0].ways), (b.len(), b[0].size, b[0].ways));
    }

    #[test]
    fn every_machine_that_can_be_scaled_has_a_twin() {
        for name in isobar_sim::machine::shipped() {
            let spec = scaled(name, Scale::default()).unwrap();
            assert_eq!(twin(&spec).unwrap().topology.cpus().len(), spec.cpus(), "{name}");
        }
    }
}
