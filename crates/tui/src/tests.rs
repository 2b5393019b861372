//! Whole frames, and how keys change them.

use crate::text::plain;
use crate::{App, Key, Reply, Setup, draw, plain_frame};
use isobar_model::{CpuId, LlcId, NodeId, Pid, Tid};
use isobar_view::{
    Gap, Harm, LastAction, LinkView, LlcView, NodeView, Pair, PlannedMove, ProgramView, Proposed, ThreadView, Verdict,
    View,
};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Color;
use std::sync::Arc;

/// A name that a hostile process might choose.
fn evil() -> String {
    format!("\u{1b}[2J\u{1b}]0;x\u{7}\"'\u{202e}\u{9b}31m\n<b>{}", "x".repeat(4096))
}

fn program(pid: u32, name: &str, slowdown: Option<f64>) -> ProgramView {
    let thread = |tid| ThreadView { tid: Tid(tid), cpu: Some(CpuId(1)), cpus: Some(0.5), ..ThreadView::default() };
    ProgramView {
        pid: Pid(pid),
        name: name.into(),
        processes: 1,
        cpus: Some(1.0),
        slowdown,
        contention: slowdown,
        pages: Some(vec![300, 100]),
        runs_on: Some(vec![1.0, 0.0]),
        remote: Some(0.25),
        threads: vec![thread(pid), thread(pid + 1)],
        ..ProgramView::default()
    }
}

fn view(number: u64) -> View {
    let node = |id| NodeView {
        id: NodeId(id),
        cpus: 4,
        busy: Some(0.5),
        memory_bytes: Some(16 << 30),
        free_bytes: Some(4 << 30),
        bandwidth: Some(9.3e9),
        max_bandwidth: Some(10e9),
        latency_ns: Some(143.0),
        idle_latency_ns: Some(90.0),
        latency_history: vec![Some(90.0), Some(143.0)],
        ..NodeView::default()
    };
    let pair = |from, to| Pair {
        from: NodeId(from),
        to: NodeId(to),
        latency_ns: 143.0,
        idle_latency_ns: Some(90.0),
        congested: from == to,
    };
    let mut redis = program(10, "redis", Some(1.41));
    redis.harmed_by = vec![Harm { pid: Pid(20), name: "backup".into(), gain: 0.3 }];
    redis.last = Some(LastAction {
        time_seconds: 1.0,
        policy: "isobar".into(),
        words: "to CPU 4 (node 1)".into(),
        reason: "because".into(),
        became: "done".into(),
        done: true,
        predicted: Some(0.12),
        ..LastAction::default()
    });
    let verdict = Verdict { pressure: "Node 1's controller is at 93 %.".into(), ..Verdict::default() };
    let proposed = PlannedMove { pid: Pid(20), name: evil(), words: "to node 1".into(), gain: 0.0 };
    View {
        number,
        time_seconds: isobar_model::num::float(number),
        interval_seconds: 1.0,
        policy: "linux".into(),
        verdict,
        nodes: vec![node(0), node(1)],
        latency: vec![pair(0, 0), pair(0, 1), pair(1, 0), pair(1, 1)],
        llcs: vec![LlcView {
            id: LlcId(0),
            nodes: vec![NodeId(0)],
            pressure: Some(34.0),
            threads: 4,
            ..LlcView::default()
        }],
        links: vec![LinkView { from: NodeId(0), to: NodeId(1), bandwidth: 4e9, max_bandwidth: 5e9 }],
        programs: vec![redis, program(20, "backup", Some(1.0)), program(30, &evil(), None)],
        proposed: Some(Proposed { moves: vec![proposed], gain: 0.3 }),
        gaps: vec![Gap { what: "ways".into(), why: "no resctrl \u{1b}[2J".into() }],
        ..View::default()
    }
}

fn app(views: u64) -> App {
    let mut app = App::new(Setup {
        source: format!("sim:{}", evil()),
        mode: "watching".into(),
        colour: true,
        ..Setup::default()
    });
    (1..=views).for_each(|number| app.take(Arc::new(view(number))));
    app
}

fn frame(app: &mut App) -> String {
    plain_frame(app, 80, 24)
}

#[test]
fn a_frame_has_the_verdict_first_then_nodes_caches_links_and_programs() {
    let mut app = app(2);
    app.setup.source = "sim:a.toml".into();
    let frame = frame(&mut app);
    let lines: Vec<&str> = frame.lines().collect();
    assert!(lines[0].starts_with("isobar top  sim:a.toml  2.0 s  watching"), "{frame}");
    assert_eq!(lines[1], "UNKNOWN: Node 1's controller is at 93 %.");
    assert_eq!(lines[3], "   0 ███▌···  50% ████·  12.0/16.0G █████▌ 9.30/~10.0  93%  143ns       ▁█");
    assert_eq!(lines[5], "llc 0 n0   34.0 MPKI ██▌····· 4 thr");
    assert_eq!(lines[6], "links  0>1 ███· 80%");
    assert!(lines[7].starts_with("    PID NAME") && lines[7].contains("SLOW▾"), "{frame}");
    let first: Vec<&str> = lines[8].split_whitespace().collect();
    assert_eq!(first, ["10", "redis", "100.0", "1.41x", "backup", "30%", "-", "-", "0", "00000011"], "{frame}");
    assert_eq!(lines[22], "- ways: no resctrl \\u{1b}[2J");
    assert!(lines[23].starts_with("q quit"), "{frame}");
}

#[test]
fn a_wide_frame_has_the_matrix_with_congested_pairs_marked() {
    let frame = plain_frame(&mut app(2), 200, 50);
    assert!(frame.contains("ns from  to 0  to 1") && frame.contains("!143   143"), "{frame}");
    assert!(frame.contains("to CPU 4 (node 1)") && frame.contains("what would be done now"), "{frame}");
}

/// With every size and every overlay, nothing panics, and no cell contains anything that a terminal
/// would act on.
#[test]
fn a_hostile_name_is_harmless_at_any_size() {
    for key in [None, Some(Key::Char('?')), Some(Key::Char('d')), Some(Key::Char('e')), Some(Key::Enter)] {
        for (columns, rows) in [(1, 1), (3, 50), (40, 10), (80, 24), (200, 60), (500, 5)] {
            let mut app = app(3);
            app.press(Key::Down);
            key.map(|key| app.press(key));
            for turn in ['t', 'c', 't', 'c'] {
                let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
                draw(&mut app, &mut buffer);
                assert!(buffer.content().iter().all(|cell| plain(cell.symbol()) == cell.symbol()), "{columns}x{rows}");
                app.press(Key::Char(turn));
            }
        }
    }
}

#[test]
fn without_colour_no_cell_has_one_and_with_colour_some_do() {
    let coloured = |colour: bool| {
        let mut app = app(2);
        app.setup.colour = colour;
        let mut buffer = Buffer::empty(Rect::new(0, 0, 160, 50));
        draw(&mut app, &mut buffer);
        buffer.content().iter().filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset).count()
    };
    assert_eq!(coloured(false), 0);
    assert!(coloured(true) > 20);
}

#[test]
fn time_is_travelled_and_a_machine_that_stands_still_is_stepped() {
    let mut app = app(5);
    assert_eq!(app.press(Key::Right), Reply::Stay, "there is nothing after now");
    assert_eq!(app.press(Key::Left), Reply::Pause(true));
    assert!(frame(&mut app).contains("1.0 s AGO"));
    assert_eq!((app.press(Key::Left), app.press(Key::Right)), (Reply::Stay, Reply::Stay));
    app.press(Key::Right);
    assert!(frame(&mut app).contains("FROZEN"));
    assert_eq!(app.press(Key::Right), Reply::Step);
    app.take(Arc::new(view(6)));
    app.take(Arc::new(view(7)));
    assert!(frame(&mut app).contains("  6.0 s"), "it stays with the epoch that was stepped to");
    assert_eq!(app.press(Key::Escape), Reply::Pause(false));
    assert!(frame(&mut app).contains("  7.0 s"));
    assert_eq!((app.press(Key::Char(' ')), app.press(Key::Char(' '))), (Reply::Pause(true), Reply::Pause(false)));
    assert_eq!(app.press(Key::Char('+')), Reply::Speed(2.0));
    assert_eq!((app.press(Key::Interrupt), app.press(Key::Char('q'))), (Reply::Quit, Reply::Quit));
}

#[test]
fn rows_are_filtered_sorted_selected_and_expanded() {
    let mut app = app(2);
    let rows = |app: &mut App| {
        frame(app);
        app.order.clone()
    };
    assert_eq!(rows(&mut app), [(10, 0), (20, 0), (30, 0)]);
    app.press(Key::Char('/'));
    "BACKq".chars().for_each(|letter| assert_eq!(app.press(Key::Char(letter)), Reply::Stay));
    assert_eq!(rows(&mut app), [], "q is a letter while a filter is typed");
    app.press(Key::Backspace);
    app.press(Key::Enter);
    assert_eq!(rows(&mut app), [(20, 0)]);
    app.press(Key::Escape);
    app.press(Key::Char('t'));
    assert_eq!(rows(&mut app).len(), 6, "two threads each");
    app.press(Key::Char('t'));
    app.press(Key::Char('t'));
    rows(&mut app);
    app.press(Key::Down);
    app.press(Key::Enter);
    let shown = frame(&mut app);
    assert!(shown.contains("slowdown  1.41x = 1.41x by others; from backup (20) 30.0 %"), "{shown}");
    assert!(shown.contains("by isobar: to CPU 4 (node 1): done; predicted +12 %"), "{shown}");
    app.press(Key::Char('e'));
    assert!(frame(&mut app).contains("│ redis (pid 10)"));
    app.press(Key::Down);
    assert!(frame(&mut app).contains("backup (pid 20): nothing was decided about it so far"));
    app.press(Key::Char('d'));
    assert!(frame(&mut app).contains("isobar would now, for +30 % summed over all programs:"));
    app.press(Key::Char('x'));
    app.press(Key::Char('c'));
    app.press(Key::Char('c'));
    assert!(frame(&mut app).contains("LAST ACTION"));
}

/// The action on the selected program is taken back after a question, and only if the answer is
/// `y`.
#[test]
fn undo_asks_first_and_says_what_it_would_take_back() {
    let mut app = app(3);
    assert_eq!(app.press(Key::Char('u')), Reply::Stay, "no program is selected");
    let acted = |ids: &[u64]| {
        let mut view = view(4);
        view.acts = true;
        for last in view.programs.iter_mut().filter_map(|program| program.last.as_mut()) {
            last.ids = ids.iter().map(|id| isobar_model::ActionId(*id)).collect();
        }
        view
    };
    app.take(acted(&[7, 8]).into());
    let acted_on = app.past.newest().and_then(|view| view.programs.iter().find(|one| one.last.is_some()));
    app.selected = acted_on.map(|one| (one.pid.0, 0));
    assert_eq!(app.press(Key::Char('u')), Reply::Stay);
    let drawn = frame(&mut app);
    assert!(drawn.contains("take back #7-8 (to CPU 4 (node 1))?"), "{drawn}");
    assert_eq!((app.press(Key::Char('n')), app.agreed()), (Reply::Stay, None));
    app.press(Key::Char('u'));
    assert_eq!(app.press(Key::Char('y')), Reply::Undo);
    assert_eq!(app.agreed().unwrap().ids.len(), 2);
    assert_eq!(app.agreed(), None, "once");
    app.take(acted(&[]).into());
    let pid = app.selected.unwrap().0;
    assert_eq!(app.press(Key::Char('u')), Reply::FindUndo(Pid(pid)), "perhaps a daemon did something");
}

#[test]
fn what_is_recorded_to_stands_in_the_title() {
    let mut app = app(1);
    assert_eq!(app.press(Key::Char('r')), Reply::Record);
    app.recording(Some("a.isobar".into()));
    assert!(frame(&mut app).lines().next().unwrap().contains("REC a.isobar"));
}
