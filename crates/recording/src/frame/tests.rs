use super::*;
use isobar_model::topology::synthetic::synthetic;
use isobar_model::{ActionOutcome, Observation};
use isobar_model::{
    Capabilities, Cgroup, Count, Counters, CpuId, CpuReading, CpuTotals, Indirect, Nanoseconds, NodeId, NodeMap,
    NodeMatrix, PageMove, Pages, ProcessSample, Sample, Seconds, Sensor, ThreadSample,
};
use proptest::prelude::*;
use std::io::{Read, Write};
use std::sync::Arc;

fn count() -> impl Strategy<Value = Option<Count>> {
    let any = (any::<u64>(), any::<u64>(), any::<u64>());
    proptest::option::of(any.prop_map(|(value, enabled, running)| Count { value, enabled, running }))
}

fn seconds() -> impl Strategy<Value = Seconds> {
    prop_oneof![
        (0..1u64 << 40).prop_map(|ns| Seconds(isobar_model::num::float(ns) / 1e9)),
        (0.0..1e6f64).prop_map(Seconds)
    ]
}

fn thread() -> impl Strategy<Value = ThreadSample> {
    let counters = (count(), count(), count(), count(), count(), count());
    let counters = counters.prop_map(|(instructions, cycles, llc_references, llc_misses, cache_transfers, bytes)| {
        Counters { instructions, cycles, llc_references, llc_misses, cache_transfers, bytes }
    });
    let flags = (any::<bool>(), any::<Option<bool>>(), any::<bool>());
    let where_it_is = (any::<Option<u32>>(), proptest::option::of(0..200u32));
    (1..40u32, 0..2u64, where_it_is, flags, proptest::option::of(seconds()), counters).prop_map(
        |(tid, start, (cpu, allowed), (pinned, bound, vcpu), cpu_time, counters)| ThreadSample {
            tid: Tid(tid),
            start,
            cpu: cpu.map(CpuId),
            allowed: allowed.map(|cpu| [CpuId(cpu), CpuId(cpu + 2)].into_iter().collect()),
            pinned,
            bound,
            vcpu,
            cpu_time,
            counters,
        },
    )
}

fn by_node() -> impl Strategy<Value = Option<NodeMap<Pages>>> {
    let pairs = proptest::collection::vec((0..3u32, any::<u64>()), 0..3);
    proptest::option::of(pairs.prop_map(|pairs| pairs.into_iter().map(|(node, n)| (NodeId(node), Pages(n))).collect()))
}

fn cgroup() -> impl Strategy<Value = Option<Arc<Cgroup>>> {
    let any = (".{0,6}", proptest::option::of(".{0,3}"));
    proptest::option::of(any.prop_map(|(path, name)| Arc::new(Cgroup { path, name })))
}

fn process() -> impl Strategy<Value = ProcessSample> {
    let threads = proptest::collection::vec(thread(), 0..4);
    (1..6u32, 0..2u64, (".{0,6}", cgroup()), by_node(), by_node(), threads).prop_map(
        |(pid, start, (name, cgroup), pages, accessed_pages, mut threads)| {
            threads.sort_by_key(|thread| thread.tid);
            threads.dedup_by_key(|thread| thread.tid);
            let name: Arc<str> = name.into();
            ProcessSample { pid: Pid(pid), start, name, cgroup, pages, accessed_pages, threads }
        },
    )
}

fn latency() -> impl Strategy<Value = Option<NodeMatrix<Nanoseconds>>> {
    let cells = proptest::collection::vec(proptest::option::of((0.0..1e4f64).prop_map(Nanoseconds)), 4);
    let matrix = |cells: Vec<Option<Nanoseconds>>| {
        let rows = cells.chunks(2).map(<[_]>::to_vec).collect();
        NodeMatrix::from_cells(vec![NodeId(0), NodeId(1)], rows).unwrap()
    };
    proptest::option::of(cells.prop_map(matrix))
}

fn indirect() -> impl Strategy<Value = Indirect> {
    let totals = |ns| CpuTotals { busy_ns: ns, ..CpuTotals::default() };
    let cpus = proptest::option::of((any::<u64>(), proptest::collection::vec(any::<u64>(), 0..3)));
    cpus.prop_map(move |read| Indirect {
        cpus: read.map(|(number, all)| CpuReading { number, cpus: all.into_iter().map(totals).collect() }),
        ..Indirect::default()
    })
}

fn sample() -> impl Strategy<Value = Sample> {
    let processes = proptest::collection::vec(process(), 0..5);
    (seconds(), 1..3usize, latency(), latency(), processes, indirect(), any::<Option<bool>>(), any::<bool>()).prop_map(
        |(time, nodes, latency, latency_idle, mut processes, indirect, numa_balancing, moves)| {
            processes.sort_by_key(|process| process.pid);
            processes.dedup_by_key(|process| process.pid);
            let topology = Arc::new(synthetic(&format!("node:{nodes} llc:1 core:2")).unwrap());
            let missing = [(Sensor::LlcMisses, "no PMU".to_owned())].into();
            let flight = PageMove {
                number: 3,
                pid: Pid(1),
                from: NodeId(0),
                to: NodeId(1),
                pages: Pages(512),
                outcome: ActionOutcome::Pages { moved: Pages(1), stayed: vec![("busy".into(), Pages(2))] },
                age: Seconds(0.1),
                copying: Seconds(0.2),
                ended: false,
            };
            Sample {
                latency,
                latency_idle,
                latency_cycles: Some(NodeMatrix::from_rows(vec![NodeId(0)], vec![vec![1.5]]).unwrap()),
                page_moves: if moves { vec![flight] } else { Vec::new() },
                indirect,
                capabilities: Arc::new(Capabilities { missing, remarks: vec!["\"\n".into()], numa_balancing }),
                ..Sample::bare(time, topology, processes)
            }
        },
    )
}

fn every_other(sample: &Sample) -> Managed {
    let ids = sample.processes.iter().flat_map(|process| process.threads.iter().map(|one| (process.pid, one.tid)));
    ids.filter(|(_, tid)| tid.0 % 2 == 0).collect()
}

/// Samples do not implement equality, because the program does not need it.
fn text(sample: &Sample) -> String {
    format!("{sample:?}")
}

/// Recordings made before processes had cgroups, and before transfers between caches were counted.
#[test]
fn frames_of_earlier_versions_are_read() {
    let process = ProcessSample { pid: Pid(1), name: "a".into(), ..ProcessSample::default() };
    let of = |cgroup: Option<Arc<Cgroup>>| {
        let topology = Arc::new(synthetic("node:1 core:1").unwrap());
        Sample::bare(Seconds(1.0), topology, vec![ProcessSample { cgroup, ..process.clone() }])
    };
    let cgroup = Some(Arc::new(Cgroup::at("/a")));
    let bytes = encode(&mut State::default(), &of(cgroup.clone()), &Managed::new()).unwrap();
    let frame = parts::Frame::unpack(&bytes).unwrap();
    let first = postcard::to_stdvec(&frame).unwrap();
    let with_cgroups = [first.clone(), postcard::to_stdvec(&frame.cgroups).unwrap()].concat();
    for (plain, expected) in [(first, None), (with_cgroups, cgroup)] {
        let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&plain).unwrap();
        let (back, _) = decode(&mut State::default(), &packer.finish().unwrap()).unwrap();
        assert_eq!(text(&back), text(&of(expected)));
    }
}

proptest! {
    #[test]
    fn what_is_read_is_what_was_written_to_the_bit(samples in proptest::collection::vec(sample(), 1..5)) {
        let (mut writer, mut reader) = (State::default(), State::default());
        for sample in &samples {
            let bytes = encode(&mut writer, sample, &every_other(sample)).unwrap();
            let (back, managed) = decode(&mut reader, &bytes).unwrap();
            prop_assert_eq!(text(&back), text(sample));
            prop_assert_eq!(managed, every_other(sample));
        }
    }

    #[test]
    fn damaged_frames_are_refused_or_read_and_never_a_panic(
        samples in proptest::collection::vec(sample(), 2),
        at in any::<prop::sample::Index>(),
        bit in 0..8u32,
    ) {
        let mut writer = State::default();
        let first = encode(&mut writer, &samples[0], &Managed::new()).unwrap();
        let second = encode(&mut writer, &samples[1], &Managed::new()).unwrap();
        let mut reader = State::default();
        decode(&mut reader, &first).unwrap();
        let mut plain = Vec::new();
        flate2::read::ZlibDecoder::new(&second[..]).read_to_end(&mut plain).unwrap();
        let place = at.index(plain.len());
        plain[place] ^= 1 << bit;
        let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&plain).unwrap();
        let _ = decode(&mut reader, &packer.finish().unwrap());
        prop_assert!(decode(&mut State::default(), &second[..second.len() / 2]).is_err());
    }
}

#[test]
fn the_machine_of_two_frames_is_one_object_as_long_as_it_does_not_change() {
    let (mut writer, mut reader) = (State::default(), State::default());
    let machine = Arc::new(synthetic("node:1 core:2").unwrap());
    let mut read = |time| {
        let sample = Sample::bare(Seconds(time), Arc::clone(&machine), Vec::new());
        decode(&mut reader, &encode(&mut writer, &sample, &Managed::new()).unwrap()).unwrap().0
    };
    let (first, second) = (read(1.0), read(2.0));
    assert!(Arc::ptr_eq(&first.topology, &second.topology));
    assert_eq!(Observation::between(&first, &second).interval, Seconds(1.0));
}

/// A thousand busy threads with every counter: a frame must be so small that an hour of them, with
/// its rows, stays under 100 MB.
#[test]
fn a_thousand_busy_threads_take_less_than_25_kilobytes() {
    let machine = Arc::new(synthetic("node:2 llc:1 core:64").unwrap());
    // Numbers without a pattern that compression could find (splitmix64).
    let noise = |tid: u64, second: u64, most: u64| {
        let mut mixed = (most ^ (tid << 32) ^ second).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % most
    };
    let thread = |tid: u64, second: u64| {
        let rate = |base: u64| second * base + noise(tid, second, base / 4);
        let ns = rate(125_000_000);
        let whole = |base| Some(Count::whole(rate(base), ns));
        ThreadSample {
            tid: Tid(u32::try_from(tid).unwrap()),
            cpu: Some(CpuId(u32::try_from(noise(tid, second, 128)).unwrap())),
            cpu_time: Some(Seconds(isobar_model::num::float(ns) / 1e9)),
            counters: Counters {
                instructions: whole(300_000_000),
                cycles: whole(350_000_000),
                llc_references: whole(9_000_000),
                llc_misses: whole(2_000_000),
                cache_transfers: None,
                bytes: whole(200_000_000),
            },
            ..ThreadSample::default()
        }
    };
    let mut state = State::default();
    let sizes: Vec<usize> = (1..4)
        .map(|second| {
            let processes = (0..100).map(|pid| ProcessSample {
                pid: Pid(1 + 10 * pid),
                threads: (0..10).map(|tid| thread(u64::from(1 + 10 * pid + tid), second)).collect(),
                ..ProcessSample::default()
            });
            let sample =
                Sample::bare(Seconds(isobar_model::num::float(second)), Arc::clone(&machine), processes.collect());
            encode(&mut state, &sample, &every_other(&sample)).unwrap().len()
        })
        .collect();
    assert!(sizes[2] < 25_000, "{sizes:?}");
}
