//! How long a redraw takes with a thousand threads: a person does not notice up to 20 ms.
//!
//! `cargo bench -p isobar-tui`

use criterion::{Criterion, criterion_group, criterion_main};
use isobar_model::{CpuId, NodeId, Pid, Tid};
use isobar_tui::{App, Key, Setup, draw};
use isobar_view::{Harm, NodeView, Pair, ProgramView, ThreadView, View};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use std::hint::black_box;
use std::sync::Arc;

/// Programs on eight nodes; each program has this number of threads.
fn view(programs: u32, threads: u32) -> View {
    let program = |at: u32| {
        let thread = |k: u32| ThreadView {
            tid: Tid(1000 + at * threads + k),
            cpu: Some(CpuId(k)),
            node: Some(NodeId(k % 8)),
            cpus: Some(0.9),
            ipc: Some(0.7),
            mpki: Some(f64::from(at % 50)),
            ..ThreadView::default()
        };
        ProgramView {
            pid: Pid(1000 + at * threads),
            name: format!("worker-{}", at % 37),
            processes: 1,
            cpus: Some(f64::from(threads)),
            slowdown: Some(1.0 + f64::from(at % 100) / 100.0),
            pages: Some(vec![1000; 8]),
            runs_on: Some(vec![0.125; 8]),
            remote: Some(0.3),
            harmed_by: vec![Harm { pid: Pid(1), name: "backup".into(), gain: 0.2 }; 8],
            threads: (0..threads).map(thread).collect(),
            ..ProgramView::default()
        }
    };
    let node = |id| NodeView {
        id: NodeId(id),
        cpus: 16,
        busy: Some(0.5),
        latency_history: vec![Some(90.0); 60],
        ..NodeView::default()
    };
    let pairs = (0..64).map(|at| Pair {
        from: NodeId(at / 8),
        to: NodeId(at % 8),
        latency_ns: 100.0,
        idle_latency_ns: Some(90.0),
        congested: false,
    });
    View {
        nodes: (0..8).map(node).collect(),
        latency: pairs.collect(),
        programs: (0..programs).map(program).collect(),
        ..View::default()
    }
}

fn redraw(bench: &mut Criterion) {
    let mut group = bench.benchmark_group("redraw of 1000 threads at 200x60");
    for (name, programs, threads, turns) in
        [("as 1000 programs", 1000, 1, 0), ("as threads of 20", 20, 50, 1), ("as groups", 1000, 1, 2)]
    {
        let mut app = App::new(Setup::default());
        app.take(Arc::new(view(programs, threads)));
        for _ in 0..turns {
            app.press(Key::Char('t'));
        }
        let area = Rect::new(0, 0, 200, 60);
        group.bench_function(name, |bench| {
            bench.iter(|| {
                let mut buffer = Buffer::empty(area);
                draw(black_box(&mut app), &mut buffer);
                buffer
            });
        });
    }
    group.finish();
}

criterion_group!(benches, redraw);
criterion_main!(benches);
