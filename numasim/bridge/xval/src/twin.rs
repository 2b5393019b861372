//! The simulator's machine of which a machine of numasim is a scaled copy: the inverse of
//! `numasim machine NAME`. Time is divided by the time scale and capacities are multiplied by the
//! cache scale, so that cycles, ways and all ratios are those of the guest.
//!
//! What the simulator does not model is left out: private caches and the cost of an LLC hit are
//! part of a program's base CPI (derive.rs), streams part of its misses in flight.

use isobar_model::num;
use isobar_sim::MachineSpec;
use numasim_lab::LabError;
use numasim_model::{Link, Llc, Node, Spec};
use serde_json::{Value, json};

pub(crate) const KIB_PER_MIB: f64 = 1024.0;

/// The simulator's machine for a machine of numasim.
///
/// # Errors
/// The simulator refuses the machine.
pub fn twin(spec: &Spec) -> Result<MachineSpec, LabError> {
    let text = toml::to_string(&machine(spec)).map_err(|error| LabError::input(&spec.name, error.to_string()))?;
    MachineSpec::from_toml(&spec.name, &text).map_err(|error| LabError::input(&spec.name, error.to_string()))
}

/// MiB of the real machine that correspond to this many KiB here.
#[must_use]
pub fn real_mib(spec: &Spec, kib: f64) -> f64 {
    kib / KIB_PER_MIB * spec.cache_scale
}

fn machine(spec: &Spec) -> Value {
    let ns = |guest: f64| guest / spec.time_scale;
    // Guest MB/s as GB/s of the real machine.
    let gb = |mb_per_s: f64| mb_per_s * spec.time_scale / 1000.0;
    let gib = |mib: u32| num::round((f64::from(mib) * spec.cache_scale / KIB_PER_MIB).max(1.0));
    let node = |node: &Node| json!({"id": node.id, "memory_gib": gib(node.memory_mib), "gb_per_s": gb(node.mb_per_s)});
    let link = |link: &Link| json!({"a": link.a, "b": link.b, "gb_per_s_each_way": gb(link.mb_per_s_each_way)});
    let rows = spec.latency.ns.iter().map(|row| row.iter().copied().map(ns).collect());
    json!({
        "clock_ghz": spec.clock_mhz * spec.time_scale / 1000.0,
        "queue": {"controller_ns": ns(spec.queue.controller_ns), "link_ns": ns(spec.queue.link_ns)},
        "node": spec.node.iter().map(node).collect::<Value>(),
        "llc": spec.llc.iter().map(|llc| cache(spec, llc)).collect::<Value>(),
        "link": spec.link.iter().map(link).collect::<Value>(),
        "route": spec.route,
        "latency": {"ns": rows.collect::<Vec<Vec<f64>>>()},
    })
}

fn cache(spec: &Spec, llc: &Llc) -> Value {
    let first = llc.cpus.as_slice().first().copied().unwrap_or_default();
    json!({
        "id": llc.id,
        "node": spec.node_of(first).unwrap_or(0),
        "size_mib": real_mib(spec, f64::from(llc.size_kib)),
        "ways": llc.ways,
        "clos": llc.clos,
        "cpus": llc.cpus.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::NodeId;
    use numasim_lab::experiment::Scale;
    use numasim_lab::machine::scaled;

    /// There and back: 2.27 GHz, 50 and 90 ns, 9.38 GB/s per direction, 20.48 GB/s per node. At
    /// half of the latter, the wait is 10 * 0.25 / 0.5 = 5 ns.
    #[test]
    fn the_twin_of_a_scaled_machine_is_the_machine() {
        let twin = twin(&scaled("nehalem-2x4", Scale::default()).unwrap()).unwrap();
        let real = isobar_sim::machine::find("nehalem-2x4").unwrap();
        assert!((twin.hertz / real.hertz - 1.0).abs() < 1e-12);
        for (a, b) in twin.idle_latency().iter().flatten().zip(real.idle_latency().iter().flatten()) {
            assert!((a.0 - b.0).abs() < 1e-9);
        }
        assert!((twin.links()[0].bandwidth.0 / real.links()[0].bandwidth.0 - 1.0).abs() < 1e-12);
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
