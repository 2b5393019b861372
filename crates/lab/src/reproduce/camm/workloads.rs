//! The workloads of the paper: homogeneous ones (section V), tables VI and VII, the mix of section
//! VI. A virtual machine is a process, and each of its virtual CPUs is a thread on a hardware
//! thread of its own.
//!
//! | the paper leaves open | read as |
//! |---|---|
//! | threads of a multi-threaded program | what the single-threaded ones leave of the hardware threads of a socket, in equal parts, the first ones one more: "Haswell system runs 36 VMs per socket, while Westmere only runs 20" |
//! | where the workload runs | node 0, the other nodes idle; `identical`: a copy on every node |
//! | whose memory grows over the run | libquantum, `npb_is`, specjbb (figure 7), and mcf, of which CAMA puts more than 30 % on the remote node (figure 11c); all others touch theirs at once (figure 12) |

use super::platform::Platform;
use crate::error::LabError;
use crate::reproduce::options::Options;
use isobar_sim::Workload;
use std::fmt::Write;

/// The programs of figures 8 to 11 that the text names.
pub(super) const HOMOGENEOUS: [&str; 8] =
    ["mcf", "npb-is", "npb-ua", "omnetpp", "lbm", "libquantum", "milc", "GemsFDTD"];
/// Programs whose memory grows over the whole run.
pub(super) const GROWING: [&str; 4] = ["libquantum", "mcf", "npb-is", "specjbb"];
/// Programs with several threads (table V).
const THREADED: [&str; 6] = ["swim", "equake", "specjbb", "cc", "mgrid", "scc"];
/// Workloads that restart programs which end early (tables VI and VII).
const RESTARTED: [&str; 3] = ["WL-8", "WL-9", "WL-10"];

/// Programs with their numbers of virtual machines.
type Mix = &'static [(&'static str, u32)];

/// The mix of section VI (figures 12d to 14).
pub(super) const MIX: Mix = &[("equake", 2), ("povray", 2), ("mgrid", 2), ("mcf", 2), ("swim", 4)];

/// Table VI.
pub(super) const WESTMERE: [(&str, Mix); 10] = [
    ("WL-1", &[("mcf", 2), ("libquantum", 3), ("npb-is", 3), ("milc", 2), ("lbm", 2), ("swim", 1)]),
    ("WL-2", &[("hpccg", 2), ("milc", 1), ("npb-is", 1), ("libquantum", 1), ("equake", 1), ("specjbb", 1), ("lbm", 1)]),
    ("WL-3", &[("GemsFDTD", 4), ("specjbb", 1), ("equake", 1), ("hpccg", 2)]),
    ("WL-4", &[("hpccg", 1), ("povray", 2), ("cc", 1), ("equake", 1), ("mgrid", 1), ("GemsFDTD", 1)]),
    ("WL-5", &[("povray", 4), ("scc", 2), ("mgrid", 2)]),
    ("WL-6", &[("povray", 1), ("mcf", 2), ("libquantum", 2), ("cc", 1), ("npb-is", 1), ("npb-ua", 1)]),
    (
        "WL-7",
        &[
            ("GemsFDTD", 1),
            ("mcf", 1),
            ("povray", 2),
            ("lbm", 1),
            ("milc", 1),
            ("specjbb", 1),
            ("libquantum", 1),
            ("npb-ua", 1),
            ("swim", 1),
            ("mgrid", 1),
        ],
    ),
    ("WL-8", &[("mcf", 2), ("libquantum", 3), ("npb-is", 3), ("milc", 2), ("lbm", 2), ("swim", 1)]),
    ("WL-9", &[("hpccg", 2), ("milc", 1), ("npb-is", 1), ("libquantum", 1), ("equake", 1), ("specjbb", 1), ("lbm", 1)]),
    ("WL-10", &[("povray", 1), ("mcf", 2), ("libquantum", 2), ("cc", 1), ("npb-is", 1), ("npb-ua", 1)]),
];

/// The same on both machines.
const WL_1_AND_8: Mix =
    &[("npb-is", 6), ("npb-ua", 4), ("mcf", 4), ("libquantum", 5), ("milc", 4), ("swim", 2), ("omnetpp", 2)];
const WL_2_AND_9: Mix = &[
    ("GemsFDTD", 3),
    ("lbm", 3),
    ("libquantum", 2),
    ("mcf", 3),
    ("omnetpp", 3),
    ("npb-is", 4),
    ("npb-ua", 1),
    ("equake", 2),
    ("swim", 1),
];

/// Table VII.
pub(super) const HASWELL: [(&str, Mix); 10] = [
    ("WL-1", WL_1_AND_8),
    ("WL-2", WL_2_AND_9),
    ("WL-3", &[("GemsFDTD", 4), ("hpccg", 3), ("equake", 2), ("specjbb", 3)]),
    ("WL-4", &[("equake", 3), ("mgrid", 2), ("GemsFDTD", 4), ("specjbb", 1), ("hpccg", 1)]),
    ("WL-5", &[("povray", 8), ("cc", 3), ("scc", 3), ("mgrid", 1)]),
    (
        "WL-6",
        &[
            ("lbm", 2),
            ("libquantum", 3),
            ("mcf", 2),
            ("milc", 3),
            ("omnetpp", 2),
            ("cc", 2),
            ("scc", 1),
            ("npb-is", 2),
            ("npb-ua", 2),
            ("mgrid", 1),
            ("swim", 1),
        ],
    ),
    (
        "WL-7",
        &[
            ("GemsFDTD", 2),
            ("lbm", 2),
            ("mcf", 2),
            ("milc", 1),
            ("omnetpp", 2),
            ("hpccg", 1),
            ("cc", 1),
            ("scc", 2),
            ("npb-is", 1),
            ("npb-ua", 1),
            ("equake", 1),
            ("swim", 1),
        ],
    ),
    ("WL-8", WL_1_AND_8),
    ("WL-9", WL_2_AND_9),
    (
        "WL-10",
        &[
            ("lbm", 2),
            ("libquantum", 3),
            ("mcf", 2),
            ("npb-ua", 2),
            ("mgrid", 1),
            ("milc", 3),
            ("omnetpp", 2),
            ("cc", 2),
            ("scc", 1),
            ("npb-is", 2),
        ],
    ),
];

/// Where new memory of a workload goes before any policy acts: weights by node, in per cent. If
/// empty, memory goes where it is touched first.
pub(super) type Split<'a> = &'a [(u32, u32)];

/// Virtual machines of one program, with one virtual CPU each, on every hardware thread of node 0.
pub(super) fn homogeneous(
    platform: &Platform,
    program: &str,
    split: Split<'_>,
    options: &Options,
) -> Result<Workload, LabError> {
    mixed(platform, &[(program, platform.hardware_threads)], 1, split, options)
}

/// `count` virtual machines of one program on the first hardware threads of node 0. Both threads of
/// a core come before the next core, as ESXi numbers them.
pub(super) fn consolidated(
    platform: &Platform,
    program: &str,
    count: u32,
    options: &Options,
) -> Result<Workload, LabError> {
    let mut text = head(platform, options);
    for number in 0..count {
        let cpu = number / 2 + (number % 2) * platform.cores;
        let _ = write!(text, "[[app]]\nprogram = \"{program}\"\nthreads = 1\ncpu = {cpu}\n{}", growth(program));
    }
    Ok(Workload::from_toml(program, &text)?)
}

/// A workload of a table, on node 0 or (`identical`) on every node.
pub(super) fn tabled(
    platform: &Platform,
    name: &str,
    mix: Mix,
    identical: bool,
    options: &Options,
) -> Result<Workload, LabError> {
    let nodes = if identical { platform.nodes } else { 1 };
    let mut workload = mixed(platform, mix, nodes, &[], options)?;
    workload.run.restart = RESTARTED.contains(&name);
    Ok(workload)
}

/// A mix on the first `nodes` nodes.
pub(super) fn mixed(
    platform: &Platform,
    mix: &[(&str, u32)],
    nodes: u32,
    split: Split<'_>,
    options: &Options,
) -> Result<Workload, LabError> {
    let mut text = head(platform, options);
    for node in 0..nodes {
        for (program, threads) in virtual_cpus(mix, platform.hardware_threads) {
            let _ = write!(
                text,
                "[[app]]\nprogram = \"{program}\"\nthreads = {threads}\nstart_node = {node}\npinned = true\n{}{}",
                growth(program),
                spread(split)
            );
        }
    }
    Ok(Workload::from_toml("mix", &text)?)
}

/// Two seconds per epoch (section IV), with four steps in each. Each program runs once; quick: a
/// tenth of its length.
fn head(platform: &Platform, options: &Options) -> String {
    let factor = if options.quick { 0.1 } else { 1.0 };
    format!(
        "machine = \"{}\"\n[run]\nruns = 1\nrestart = false\nstep_seconds = 0.5\nepoch_seconds = \
         2.0\ninstructions_factor = {factor}\n",
        platform.machine
    )
}

fn growth(program: &str) -> &'static str {
    if GROWING.contains(&program) { "touch_share = 1.0\n" } else { "" }
}

fn spread(split: Split<'_>) -> String {
    let weights: Vec<_> =
        split.iter().map(|(node, weight)| format!("{{ node = {node}, weight = {weight} }}")).collect();
    if weights.is_empty() { String::new() } else { format!("spread = [{}]\n", weights.join(", ")) }
}

/// Every virtual machine of a mix, with its number of threads.
fn virtual_cpus<'a>(mix: &[(&'a str, u32)], all: u32) -> Vec<(&'a str, u32)> {
    let threaded = |program: &str| THREADED.contains(&program) && mix.len() > 1;
    let count = |wanted: bool| mix.iter().filter(|(name, _)| threaded(name) == wanted).map(|(_, count)| count).sum();
    let (single, several): (u32, u32) = (count(false), count(true));
    let left = all.saturating_sub(single);
    let (each, rest) = (left / several.max(1), left % several.max(1));
    let machines = mix.iter().flat_map(|(name, count)| (0..*count).map(move |_| *name));
    let mut number = 0;
    let one = |name| {
        if !threaded(name) {
            return (name, 1);
        }
        number += 1;
        (name, (each + u32::from(number <= rest)).max(1))
    };
    machines.map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::camm::platform::PLATFORMS;

    const QUICK: Options = Options { quick: true, seed: 1, jobs: 1, varied: None };

    /// Haswell, WL-1: 25 single-threaded machines leave 11 of 36 hardware threads to two machines
    /// of swim: 6 and 5.
    #[test]
    fn machines_fill_a_socket() {
        let sizes = virtual_cpus(HASWELL[0].1, 36);
        let swim: Vec<_> = sizes.iter().filter(|(name, _)| *name == "swim").map(|(_, threads)| *threads).collect();
        assert_eq!((swim, sizes.iter().map(|(_, threads)| threads).sum::<u32>()), (vec![6, 5], 36));
        for (platform, table) in PLATFORMS.iter().zip([HASWELL, WESTMERE]) {
            for (name, mix) in table {
                let sum: u32 = virtual_cpus(mix, platform.hardware_threads).iter().map(|(_, threads)| threads).sum();
                let single = mix.iter().all(|(program, _)| !THREADED.contains(program));
                assert!(sum == platform.hardware_threads || single, "{} {name} {sum}", platform.machine);
                let all = tabled(platform, name, mix, true, &QUICK).unwrap();
                let machines: u32 = mix.iter().map(|(_, count)| count).sum();
                assert_eq!(all.apps.len(), usize::try_from(machines * platform.nodes).unwrap(), "{name}");
            }
        }
    }

    /// Eighteen machines run on nine cores of two threads, not on eighteen cores.
    #[test]
    fn both_threads_of_a_core_come_before_the_next_core() {
        let eighteen = consolidated(&PLATFORMS[0], "povray", 18, &QUICK).unwrap();
        let cpus: Vec<_> = eighteen.apps.iter().map(|app| app.cpu.unwrap().0).collect();
        assert_eq!(cpus[..4], [0, 36, 1, 37]);
        let cores: std::collections::BTreeSet<_> =
            eighteen.apps.iter().map(|app| eighteen.machine.topology.cpu(app.cpu.unwrap()).unwrap().core).collect();
        assert_eq!(cores.len(), 9);
    }
}
