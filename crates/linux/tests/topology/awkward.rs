//! Machines that are rare but real, one test each, on trees made by the tests.

use crate::support::{Cache, Capture, l2, l3, server_256};
use isobar_linux::topology;
use isobar_linux::tree::{LinuxError, Tree};
use isobar_model::{Bytes, CoreId, CpuId, LlcId, NodeId, Topology, Ways};
use proptest::prelude::*;

fn try_read(capture: &Capture) -> Result<Topology, LinuxError> {
    let folder = tempfile::tempdir().unwrap();
    capture.write(folder.path());
    let from_folder = Tree::open(folder.path()).and_then(|tree| topology::read(&tree));
    let archive = folder.path().join("capture.tar");
    std::fs::write(&archive, capture.tar("box/")).unwrap();
    let from_archive = Tree::open(&archive).and_then(|tree| topology::read(&tree));
    match (&from_folder, &from_archive) {
        (Ok(folder), Ok(archive)) => assert_eq!(folder, archive),
        (folder, archive) => assert_eq!(folder.is_err(), archive.is_err()),
    }
    from_folder
}

fn read(capture: &Capture) -> Topology {
    try_read(capture).unwrap()
}

fn refusal(capture: &Capture) -> String {
    let said = try_read(capture).unwrap_err().to_string();
    assert!(!said.contains('\n'), "{said}");
    said
}

fn node_cpus(machine: &Topology, node: u32) -> String {
    machine.cpus_of_node(NodeId(node)).unwrap().to_string()
}

fn llc_cpus(machine: &Topology) -> Vec<(u32, String)> {
    machine.llcs().iter().map(|llc| (llc.id.0, machine.cpus_of_llc(llc.id).unwrap().to_string())).collect()
}

fn ids(machine: &Topology) -> Vec<u32> {
    machine.nodes().iter().map(|node| node.id.0).collect()
}

/// `cpus` CPUs that are online, each a core of its own, all under one L3.
fn plain(cpus: u32) -> Capture {
    let all = format!("0-{}", cpus - 1);
    (0..cpus).fold(Capture::default().online(&all), |tree, cpu| {
        tree.cpu(cpu, &cpu.to_string()).cache(cpu, l2(&cpu.to_string(), None)).cache(cpu, l3(&all, None))
    })
}

#[test]
fn a_node_without_cpus_has_memory_only() {
    let machine = read(&plain(2).node(0, "0-1", 4096, "10 20").node(5, "", 8192, "20 10"));
    assert_eq!(ids(&machine), [0, 5]);
    assert_eq!(node_cpus(&machine, 5), "");
    assert_eq!(machine.node(NodeId(5)).unwrap().memory, Some(Bytes(8192 * 1024)));
    assert_eq!(machine.distances().unwrap().get(NodeId(5), NodeId(0)), Some(&20));
}

#[test]
fn a_node_without_memory_has_zero_bytes() {
    let machine = read(&plain(2).node(0, "0", 4096, "10 20").node(1, "1", 0, "20 10"));
    assert_eq!(machine.node(NodeId(1)).unwrap().memory, Some(Bytes(0)));
}

#[test]
fn cpus_without_a_node_stay_without() {
    let machine = read(&plain(4).node(0, "0-1", 4096, "10"));
    assert_eq!(node_cpus(&machine, 0), "0-1");
    assert_eq!(machine.node_of(CpuId(3)), None);
    assert_eq!(machine.cpus().len(), 4);
}

#[test]
fn several_llcs_in_a_node() {
    let mut tree = Capture::default().online("0-3").node(0, "0-3", 4096, "10");
    for cpu in 0..4 {
        tree = tree.cache(cpu, l3(if cpu < 2 { "0-1" } else { "2-3" }, Some(cpu / 2 + 7)));
    }
    let machine = read(&tree);
    assert_eq!(llc_cpus(&machine), [(7, "0-1".to_owned()), (8, "2-3".to_owned())]);
    assert_eq!(machine.llcs_of_node(NodeId(0)), [LlcId(7), LlcId(8)]);
}

#[test]
fn an_llc_over_several_nodes() {
    let machine = read(&plain(4).node(0, "0-1", 4096, "10 12").node(1, "2-3", 4096, "12 10"));
    assert_eq!(llc_cpus(&machine), [(0, "0-3".to_owned())]);
    assert_eq!(machine.nodes_of_llc(LlcId(0)), [NodeId(0), NodeId(1)]);
}

#[test]
fn without_an_l3_the_l2_is_last() {
    let mut tree = Capture::default().online("0-1").node(0, "0-1", 4096, "10");
    for cpu in 0..2 {
        let own = cpu.to_string();
        let l1 = |index, kind| Cache { index, level: 1, kind, size: "32K", ways: 8, shared: &own, id: None };
        tree = tree.cache(cpu, l1(0, "Data")).cache(cpu, l1(1, "Instruction")).cache(cpu, l2(&own, None));
    }
    let machine = read(&tree);
    assert_eq!(llc_cpus(&machine), [(0, "0".to_owned()), (1, "1".to_owned())]);
    assert_eq!(machine.llc(LlcId(1)).unwrap().level, 2);
}

#[test]
fn instruction_caches_are_never_last() {
    let l4i = Cache { index: 4, level: 4, kind: "Instruction", size: "64K", ways: 4, shared: "0-1", id: None };
    let machine = read(&plain(2).cache(0, l4i).cache(1, l4i).node(0, "0-1", 4096, "10"));
    assert_eq!(machine.llcs().len(), 1);
    assert_eq!(machine.llcs()[0].level, 3);
}

#[test]
fn no_cache_described_at_all() {
    let machine = read(&Capture::default().online("0").cpu(0, "0").node(0, "0", 4096, "10"));
    assert!(machine.llcs().is_empty());
    assert_eq!(machine.llc_of(CpuId(0)), None);
}

/// Arm guests without cache tables: the kernel reports an L2 that all CPUs share, without size or
/// id.
#[test]
fn a_cache_without_a_size_over_several_nodes_is_a_guess() {
    let guessed = Cache { index: 2, level: 2, kind: "Unified", size: "0K", ways: 0, shared: "0-3", id: None };
    let two_nodes = |caches: &[(u32, Cache<'_>)]| {
        let tree = Capture::default().online("0-3").node(0, "0-1", 4096, "10 20").node(1, "2-3", 4096, "20 10");
        read(&caches.iter().fold(tree, |tree, (cpu, cache)| tree.cache(*cpu, *cache)))
    };
    let machine = two_nodes(&[0, 1, 2, 3].map(|cpu| (cpu, guessed)));
    assert_eq!((machine.llcs(), machine.llc_of(CpuId(3))), (&[][..], None));
    // A size means that firmware described the cache, and CPUs of one node may share a cache of
    // unknown size.
    assert_eq!(two_nodes(&[0, 1, 2, 3].map(|cpu| (cpu, Cache { size: "8192K", ..guessed }))).llcs().len(), 1);
    let small = |cpu| (cpu, Cache { shared: if cpu < 2 { "0-1" } else { "2-3" }, ..guessed });
    assert_eq!(two_nodes(&[0, 1, 2, 3].map(small)).llcs().len(), 2);
}

#[test]
fn sparse_ids_are_kept() {
    let tree = Capture::default()
        .online("8,200")
        .nodes_online("3,72")
        .node(3, "8", 4096, "10 40")
        .node(72, "200", 4096, "41 10")
        .cache(8, l3("8", None))
        .cache(200, l3("200", None));
    let machine = read(&tree);
    assert_eq!(ids(&machine), [3, 72]);
    assert_eq!(machine.cpus().iter().map(|cpu| cpu.id.0).collect::<Vec<_>>(), [8, 200]);
    assert_eq!(machine.distances().unwrap().get(NodeId(72), NodeId(3)), Some(&41));
}

#[test]
fn asymmetric_caches_have_llcs_of_two_levels() {
    // CPUs 0 and 1 have an L3; 2 and 3 are low-power cores that share an L2 and nothing above.
    let mut tree = Capture::default().online("0-3").node(0, "0-3", 4096, "10");
    for cpu in 0..2 {
        tree = tree.cache(cpu, l2(&cpu.to_string(), Some(cpu))).cache(cpu, l3("0-1", Some(0)));
    }
    for cpu in 2..4 {
        tree = tree.cache(cpu, l2("2-3", Some(2)));
    }
    let machine = read(&tree);
    assert_eq!(llc_cpus(&machine), [(0, "0-1".to_owned()), (2, "2-3".to_owned())]);
    assert_eq!(machine.llc(LlcId(2)).unwrap().level, 2);
}

#[test]
fn a_cpu_that_an_llc_names_may_have_a_higher_one() {
    // CPU 0 lists CPU 1 as sharing its L3. CPU 1 agrees and has an L4 above it.
    let l4 = Cache { index: 4, level: 4, kind: "Unified", size: "64M", ways: 0, shared: "1", id: None };
    let machine = read(&plain(2).cache(1, l4).node(0, "0-1", 4096, "10"));
    assert_eq!(llc_cpus(&machine), [(0, "0".to_owned()), (1, "1".to_owned())]);
    assert_eq!(machine.llc(LlcId(1)).unwrap().ways, None);
    assert_eq!(machine.llc(LlcId(1)).unwrap().size, Some(Bytes(64 << 20)));
}

#[test]
fn cpus_that_contradict_each_other_are_taken_at_their_own_word() {
    let tree = Capture::default().online("0-2").cache(0, l3("0-2", None)).cache(1, l3("1-2", None));
    let machine = read(&tree.cache(2, l3("1-2", None)).node(0, "0-2", 4096, "10"));
    assert_eq!(llc_cpus(&machine), [(0, "0".to_owned()), (1, "1-2".to_owned())]);
}

#[test]
fn repeated_cache_ids_are_replaced_by_the_order_of_first_cpus() {
    // Two sockets whose firmware numbers caches from 0 each.
    let tree = Capture::default().online("0-1").cache(0, l3("0", Some(4))).cache(1, l3("1", Some(4)));
    let machine = read(&tree.node(0, "0-1", 4096, "10"));
    assert_eq!(llc_cpus(&machine), [(0, "0".to_owned()), (1, "1".to_owned())]);
}

#[test]
fn hybrid_cores_have_one_or_two_threads() {
    let mut tree = Capture::default().online("0-3").node(0, "0-3", 4096, "10");
    for (cpu, siblings) in [(0, "0-1"), (1, "0-1"), (2, "2"), (3, "3")] {
        tree = tree.cpu(cpu, siblings).cache(cpu, l3("0-3", Some(0)));
    }
    let cores: Vec<_> = read(&tree).cpus().iter().map(|cpu| cpu.core.0).collect();
    assert_eq!(cores, [0, 0, 2, 3]);
}

#[test]
fn offline_cpus_are_left_out_everywhere() {
    // CPU 0 is offline. Its sibling 2 gives the core its number, and stale lists that still contain
    // CPU 0 do not matter.
    let mut tree = Capture::default().online("1-3").node(0, "0-3", 4096, "10");
    for (cpu, siblings) in [(0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")] {
        tree = tree.cpu(cpu, siblings).cache(cpu, l3("0-3", Some(0)));
    }
    let machine = read(&tree);
    assert_eq!(node_cpus(&machine, 0), "1-3");
    assert_eq!(llc_cpus(&machine), [(0, "1-3".to_owned())]);
    assert_eq!(machine.cpu(CpuId(2)).unwrap().core, CoreId(2));
    assert_eq!(machine.cpu(CpuId(3)).unwrap().core, CoreId(1));
}

#[test]
fn without_an_online_list_each_cpu_says_it_itself() {
    let tree = plain(3).without("sys/devices/system/cpu/online").node(0, "0-2", 4096, "10");
    let tree = tree.file("sys/devices/system/cpu/cpu1/online", "0\n").file("sys/devices/system/cpu/cpu2/online", "1\n");
    assert_eq!(read(&tree).online().to_string(), "0,2");
}

#[test]
fn nodes_that_are_offline_are_left_out() {
    let machine = read(&plain(2).nodes_online("0").node(0, "0-1", 4096, "10").node(1, "", 0, ""));
    assert_eq!(ids(&machine), [0]);
    assert!(machine.distances().is_some());
}

#[test]
fn missing_distances_are_none_and_malformed_ones_are_refused() {
    let two = |first: &str, second: &str| plain(2).node(0, "0", 4096, first).node(1, "1", 4096, second);
    assert!(read(&two("10 20", "20 10")).distances().is_some());
    let missing = two("10 20", "20 10").without("sys/devices/system/node/node1/distance");
    assert_eq!(read(&missing).distances(), None);
    // A capture has an empty file if the kernel refused.
    assert_eq!(read(&two("10 20", "")).distances(), None);
    for row in ["20", "20 10 30", "far 10", "20 -10", "20 0", "20 4000000000"] {
        let said = refusal(&two("10 20", row));
        let why = "is not a row with one number from 1 to 255 for each online node, such as `10 20` for two";
        assert!(said.contains(&format!("node1/distance: `{row}` {why}")), "{said}");
    }
    assert!(refusal(&two("10 20 30", "20 10 30")).contains("node0/distance: "));
}

#[test]
fn billions_of_ways_are_refused() {
    let ways = |ways| {
        let cache = Cache { index: 3, level: 3, kind: "Unified", size: "8192K", ways, shared: "0-1", id: None };
        Capture::default().online("0-1").node(0, "0-1", 4096, "10").cache(0, cache).cache(1, cache)
    };
    assert_eq!(read(&ways(65_535)).llcs()[0].ways, Some(Ways(65_535)), "AMD's figure for full associativity");
    // On other machines the kernel writes 0 for full associativity, which is not a number of ways.
    assert_eq!(read(&ways(0)).llcs()[0].ways, None);
    let said = refusal(&ways(4_000_000_000));
    assert!(said.contains("ways_of_associativity: `4000000000` is not a number of ways from 0 to 65535"), "{said}");
}

#[test]
fn a_kernel_without_numa_has_one_node() {
    let machine = read(&plain(2).file("proc/meminfo", "MemTotal:  2048 kB\nMemFree: 1 kB\n"));
    assert_eq!(ids(&machine), [0]);
    assert_eq!(node_cpus(&machine, 0), "0-1");
    assert_eq!(machine.node(NodeId(0)).unwrap().memory, Some(Bytes(2 << 20)));
    assert_eq!(read(&plain(2)).node(NodeId(0)).unwrap().memory, None);
}

#[test]
fn masks_serve_where_lists_are_missing() {
    let base = "sys/devices/system";
    let mut tree = plain(34).without("sys/devices/system/cpu/online");
    for cpu in 0..34 {
        tree = tree.without(&format!("{base}/cpu/cpu{cpu}/topology/thread_siblings_list"));
        tree = tree.without(&format!("{base}/cpu/cpu{cpu}/cache/index3/shared_cpu_list"));
        tree = tree.file(format!("{base}/cpu/cpu{cpu}/cache/index3/shared_cpu_map"), "00000003,ffffffff\n");
    }
    // CPUs 0 and 33 share a core.
    tree = tree.file(format!("{base}/cpu/cpu0/topology/thread_siblings"), "00000002,00000001\n");
    tree = tree.file(format!("{base}/node/node0/cpumap"), "00000001,0000ffff\n");
    tree = tree.file(format!("{base}/node/node1/cpumap"), "00000002,ffff0000\n");
    let machine = read(&tree);
    assert_eq!(node_cpus(&machine, 0), "0-15,32");
    assert_eq!(node_cpus(&machine, 1), "16-31,33");
    assert_eq!(llc_cpus(&machine), [(0, "0-33".to_owned())]);
    assert_eq!(machine.cpu(CpuId(33)).unwrap().core, CoreId(0));
}

#[test]
fn links_decide_between_nodes_that_claim_the_same_cpu() {
    // As under numa=fake: both nodes list both CPUs, while the kernel's own node of CPU 1 is 1.
    let tree = plain(2).node(0, "0-1", 4096, "10 10").node(1, "0-1", 4096, "10 10");
    let tree = tree.link("sys/devices/system/cpu/cpu1/node1", "../../node/node1");
    let machine = read(&tree.link("sys/devices/system/node/node0/cpu0", "../../cpu/cpu0"));
    assert_eq!((machine.node_of(CpuId(0)), machine.node_of(CpuId(1))), (Some(NodeId(0)), Some(NodeId(1))));
    assert_eq!((node_cpus(&machine, 0), node_cpus(&machine, 1)), ("0-1".to_owned(), "0-1".to_owned()));
}

#[test]
fn firmware_figures_of_memory_are_read_in_their_units() {
    let at = "sys/devices/system/node/node2/access1/initiators";
    let tree = plain(2).node(0, "0-1", 4096, "10 20").node(2, "", 4096, "20 10");
    let tree = tree.file(format!("{at}/read_latency"), "130\n").file(format!("{at}/write_latency"), "0\n");
    let machine =
        read(&tree.file(format!("{at}/read_bandwidth"), "1000\n").link(format!("{at}/node0"), "../../../node0"));
    let class = &machine.access_classes()[0];
    assert_eq!((class.memory, class.class, class.initiators.clone()), (NodeId(2), 1, vec![NodeId(0)]));
    assert_eq!(class.read_latency.unwrap().0.to_string(), "130");
    assert_eq!(class.write_latency, None);
    // 1000 MiB/s = 1000 * 1048576 B/s.
    assert_eq!(class.read_bandwidth.unwrap().0.to_string(), "1048576000");
    assert_eq!(machine.node(NodeId(2)).unwrap().max_bandwidth, class.read_bandwidth);
    assert_eq!(machine.node(NodeId(0)).unwrap().max_bandwidth, None);
}

fn resctrl(resource: &str) -> Capture {
    let info = format!("sys/fs/resctrl/info/{resource}");
    let tree = plain(2).node(0, "0-1", 4096, "10").file(format!("{info}/cbm_mask"), "7ff\n");
    let tree = tree.file(format!("{info}/min_cbm_bits"), "1\n").file(format!("{info}/num_closids"), "16\n");
    tree.file(format!("{info}/shareable_bits"), "600\n").file("sys/fs/resctrl/info/L3_MON/num_rmids", "144\n")
}

#[test]
fn resctrl_tells_the_ways_that_can_be_allocated() {
    for resource in ["L3", "L3CODE"] {
        let machine = read(&resctrl(resource));
        let limits = machine.allocation().unwrap();
        assert_eq!((limits.resource.as_str(), limits.cbm_mask, limits.shareable_bits), (resource, 0x7ff, 0x600));
        assert_eq!((limits.min_cbm_bits, limits.num_closids, limits.num_rmids), (1, 16, Some(144)));
        // 11 bits, not the 16 ways of the cache.
        assert_eq!(machine.llcs()[0].ways, Some(Ways(11)));
    }
}

#[test]
fn resctrl_of_another_level_says_nothing_of_the_llc() {
    let machine = read(&resctrl("L2"));
    assert_eq!(machine.allocation(), None);
    assert_eq!(machine.llcs()[0].ways, Some(Ways(16)));
}

#[test]
fn empty_files_of_a_capture_say_nothing() {
    let tree = plain(1).node(0, "0", 4096, "10").file("sys/devices/system/cpu/cpu0/cache/index3/size", "");
    assert_eq!(read(&tree).llcs()[0].size, None);
}

#[test]
fn damaged_files_are_named() {
    let said = refusal(&plain(2).online("0-x").node(0, "0-1", 4096, "10"));
    assert!(said.contains("sys/devices/system/cpu/online: `0-x` is not a list of CPUs such as `0-3,8`"), "{said}");
    let said = refusal(&plain(1).file("sys/devices/system/cpu/cpu0/cache/index3/size", "huge\n"));
    assert!(said.contains("index3/size: `huge` is not a size such as `8192K`"), "{said}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever the files contain, the result is a machine or one line of error, and never a panic.
    #[test]
    fn any_text_in_any_file_is_a_machine_or_one_line(
        texts in prop::collection::vec((0usize..16, "\\PC{0,12}|[0-9a-f,\\-]{0,12}|[0-9 ]{0,12}"), 1..4)
    ) {
        let at = "sys/devices/system";
        let paths = [
            "cpu/online", "node/online", "cpu/cpu1/online", "cpu/cpu0/topology/thread_siblings_list",
            "cpu/cpu0/cache/index3/level", "cpu/cpu0/cache/index3/type", "cpu/cpu0/cache/index3/size",
            "cpu/cpu0/cache/index3/shared_cpu_list", "cpu/cpu0/cache/index3/shared_cpu_map", "cpu/cpu1/cache/index3/id",
            "cpu/cpu0/cache/index3/ways_of_associativity", "node/node0/cpulist", "node/node0/cpumap",
            "node/node0/meminfo", "node/node0/distance", "node/node1/access0/initiators/read_latency",
        ];
        let tree = plain(2).node(0, "0", 4096, "10 20").node(1, "1", 4096, "20 10");
        let tree = texts.iter().fold(tree, |tree, (path, text)| tree.file(format!("{at}/{}", paths[*path]), text));
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("capture.tar");
        std::fs::write(&archive, tree.tar("")).unwrap();
        if let Err(error) = Tree::open(&archive).and_then(|tree| topology::read(&tree)) {
            let said = error.to_string();
            prop_assert!(said.contains("capture.tar") && !said.contains('\n'), "{}", said);
        }
    }
}

#[test]
fn a_server_of_256_cpus() {
    // From an archive only, because its ten thousand files are slow to write out.
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("capture.tar.gz");
    std::fs::write(&archive, server_256().tar_gz("box/")).unwrap();
    let machine = topology::read(&Tree::open(&archive).unwrap()).unwrap();
    assert_eq!((machine.nodes().len(), machine.llcs().len(), machine.cpus().len()), (8, 16, 256));
    assert_eq!(node_cpus(&machine, 7), "112-127,240-255");
    assert_eq!(machine.cpus_of_llc(LlcId(15)).unwrap().to_string(), "120-127,248-255");
    assert_eq!(machine.cpu(CpuId(200)).unwrap().core, CoreId(72));
    assert_eq!(machine.distances().unwrap().get(NodeId(0), NodeId(7)), Some(&32));
}
