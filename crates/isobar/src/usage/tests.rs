use super::{ReportDocument, document, draw, lines};
use isobar_pages::report::{Advice, Course, Question, Report};
use isobar_pages::trace::{End, Header, Row, Slice};
use isobar_pages::{Homes, KernelPlacement, Page, PageProfile, Structure, Usage};

/// A profile with the pages of table 2 of the paper, or of any four threads.
fn profile(rows: &[[u64; 4]], structures: &[(&str, usize)]) -> PageProfile {
    let mut usage = Usage::new(4, 4096).unwrap();
    (0x600..).zip(rows).for_each(|(number, row)| usage.push(Page { number, first: 0 }, row).unwrap());
    let one = |(name, _): &(&str, usize)| Structure { name: (*name).into(), line: None, region: None };
    let of = (0..).zip(structures).flat_map(|(index, (_, pages))| std::iter::repeat_n(index, *pages));
    PageProfile {
        header: Header {
            engine: "hand".into(),
            sampled: None,
            page_bytes: 4096,
            slice_ns: 10_000_000,
            command: vec!["./matmul".into(), "128".into()],
        },
        usage,
        structures: structures.iter().map(one).collect(),
        structure_of: of.collect(),
        threads: (0..4).map(|number| format!("T{number}")).collect(),
        linux: None,
        end: None,
    }
}

/// The shape of table 1: 16 pages of each matrix, and hot stacks.
fn matmul() -> PageProfile {
    let mut rows: Vec<[u64; 4]> = Vec::new();
    let own = |page: usize, all: u64| {
        let mut row = [256, 0, 0, 0];
        row[page / 4] += all;
        row
    };
    rows.extend((0..16).map(|page| own(page, 40_000)));
    rows.extend((0..16).map(|page| [9_000 + page, 9_200 - page, 8_900, 9_100]));
    rows.extend((0..16).map(|page| own(page, 70_000)));
    rows.extend([[1_400_000, 0, 0, 0], [2, 1_500_000, 0, 0], [2, 0, 1_400_000, 0], [2, 0, 0, 1_600_000]]);
    let stacks = [("stack of T0", 1), ("stack of T1", 1), ("stack of T2", 1), ("stack of T3", 1)];
    let mut matmul = profile(&rows, &[[("a", 16), ("b", 16), ("c", 16)].as_slice(), stacks.as_slice()].concat());
    matmul.structures[0].line = Some("matmul.c:4".into());
    matmul
}

fn course(profile: &PageProfile, homes: &Homes) -> Course {
    let mut follow = Course::follow(profile, homes, None).unwrap();
    let pages = profile.usage.rows().map(|(page, row)| (page.number, row.to_vec())).collect::<Vec<_>>();
    for number in 0..60_u64 {
        // First one thread initialises the data, then all threads work.
        let row = |(page, counts): &(u64, Vec<u64>)| {
            let (page, counts) = (*page, counts.clone());
            (0..4_u32).filter_map(move |thread| {
                let share = counts[usize::try_from(thread).unwrap()] / 60;
                let loads = if number < 8 { u64::from(thread == 0) * 64 } else { share };
                (loads > 0).then_some(Row { page, thread, loads, stores: 0 })
            })
        };
        let rows = pages.iter().flat_map(row).collect();
        follow.add(Slice { number, first: Vec::new(), rows }).unwrap();
    }
    follow.finish(profile).unwrap()
}

fn shown(profile: &PageProfile, nodes: usize, timed: bool, ask: impl FnOnce(&ReportDocument<'_>)) {
    let homes = Homes::compact(nodes, profile.usage.threads()).unwrap();
    let course = timed.then(|| course(profile, &homes));
    let question = Question { homes: &homes, min_excl: 0.9, page_bytes: None, sweep: timed, course };
    let report = Report::of(profile, question).unwrap();
    let advice = Advice::of(&report, profile, "matmul.csv");
    ask(&ReportDocument { name: "matmul.csv", profile, report: &report, advice: &advice, remarks: &[] });
}

#[test]
fn a_report_for_people() {
    shown(&matmul(), 4, true, |shown| insta::assert_snapshot!(lines(shown, 100).join("\n")));
}

#[test]
fn a_report_of_table_2() {
    let rows = [[1, 0, 1000, 0], [1, 1000, 0, 0], [1000, 0, 0, 0], [1000, 0, 0, 50]];
    shown(&profile(&rows, &[("array", 4)]), 4, false, |shown| {
        insta::assert_snapshot!(lines(shown, 80).join("\n"));
        insta::assert_snapshot!(serde_json::to_string_pretty(&document(shown)).unwrap());
    });
}

#[test]
fn one_node_no_accesses_and_no_pages_still_make_a_report() {
    let text = |profile: &PageProfile, nodes| {
        let mut text = String::new();
        shown(profile, nodes, false, |shown| {
            text = lines(shown, 80).join("\n");
            let json = document(shown).to_string();
            assert!(!json.contains("NaN"), "{json}");
            draw(shown).iter().for_each(|(name, svg)| assert!(svg.starts_with("<svg"), "{name}: {svg}"));
        });
        text
    };
    let one = text(&matmul(), 1);
    assert!(one.contains("There is one node") && one.contains("By structure") && !one.contains("Mappings"), "{one}");
    let nothing = text(&profile(&[[0; 4]], &[("array", 1)]), 4);
    assert!(nothing.contains("1 of these pages was never accessed") && nothing.contains("No accesses"), "{nothing}");
    assert!(text(&profile(&[], &[]), 2).contains("0 pages of 4 KiB"));
    assert!(text(&matmul(), 64).contains("60 nodes run none"));
}

#[test]
fn the_row_of_linux_is_what_was_observed_or_dashes_with_the_reason() {
    let mut found = matmul();
    let row = |profile: &PageProfile, nodes| {
        let mut all = String::new();
        shown(profile, nodes, false, |shown| all = lines(shown, 80).join("\n"));
        let mut lines = all.lines().skip_while(|line| !line.contains("linux (observed)"));
        lines.by_ref().take(7).map(str::trim).collect::<Vec<_>>().join(" ")
    };
    let none = row(&found, 4);
    let dashes = none.split(" change:").next().unwrap().split_whitespace().filter(|word| *word == "-").count();
    assert_eq!(dashes, 7, "{none}");
    assert!(none.contains("not known: the file does not say"), "{none}");
    found.linux = Some(KernelPlacement { nodes: 1, node_of: vec![Some(0); found.usage.pages().len()] });
    let one = row(&found, 4);
    assert!(one.contains("a machine with one node, so that all of them are on node 0"), "{one}");
    let of = |node| found.usage.pages().iter().map(move |page| (page.number % 2 == 0).then_some(node)).collect();
    let spread = KernelPlacement { nodes: 8, node_of: of(3) };
    let far = KernelPlacement { nodes: 8, node_of: of(5) };
    let spread = PageProfile { linux: Some(spread), ..found.clone() };
    let far = PageProfile { linux: Some(far), ..found };
    let half = row(&spread, 4);
    assert!(half.contains("of the 50 % of the pages") && half.contains("with 8 nodes"), "{half}");
    assert!(row(&far, 4).contains("add --nodes 8"), "{}", row(&far, 4));
    shown(&spread, 4, false, |shown| {
        let linux = &document(shown)["linux"];
        assert_eq!((&linux["machine_nodes"], &linux["node_pages"][3]), (&8.into(), &linux["pages"]));
    });
    shown(&far, 4, false, |shown| {
        let document = document(shown);
        assert!(document["linux"].is_null() && document["linux_missing"].as_str().unwrap().contains("8 nodes"));
    });
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut long = matmul();
    long.structures[1].name = "a_matrix_with_a_name_that_nobody_can_remember".into();
    long.header.command = vec!["x".repeat(300)];
    long.end = Some(End { ran_ns: 1, status: None, missing: Vec::new() });
    for columns in [76, 80, 100] {
        shown(&long, 4, true, |shown| {
            for line in lines(shown, columns) {
                assert!(crate::text::width(&line) <= columns, "{columns}: {line}");
            }
        });
    }
}

/// `ISOBAR_FIGURES=folder cargo test -p isobar figures` keeps the figures for inspection.
#[test]
fn figures_are_drawn_of_everything_that_was_measured() {
    shown(&matmul(), 4, true, |shown| {
        let figures = draw(shown);
        let names: Vec<&str> = figures.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), 8, "{names:?}");
        for (name, svg) in figures {
            assert!(svg.contains("matmul.csv"), "{name}");
            if let Some(folder) = std::env::var_os("ISOBAR_FIGURES") {
                std::fs::write(std::path::Path::new(&folder).join(name), svg).unwrap();
            }
        }
    });
}
