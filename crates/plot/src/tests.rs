use crate::{Grid, Panel, bars, boxes, curves, heat, panels, parts, scatter};
use proptest::prelude::{Strategy, any, prop, proptest};

fn texts(svg: &str) -> Vec<String> {
    let tree = roxmltree::Document::parse(svg).unwrap();
    let root = tree.root_element();
    assert_eq!((root.attribute("width"), root.attribute("height")), (Some("800"), Some("500")));
    let texts = tree.descendants().filter(|node| node.has_tag_name("text"));
    texts.filter_map(|node| node.text().map(|text| text.trim().to_owned())).collect()
}

fn count(svg: &str, tag: &str) -> usize {
    roxmltree::Document::parse(svg).unwrap().descendants().filter(|node| node.has_tag_name(tag)).count()
}

fn two_series() -> Vec<(String, Vec<Option<f64>>)> {
    vec![("dino".into(), vec![Some(20.0), Some(-5.0), None]), ("linux".into(), vec![Some(0.0), Some(3.0), Some(4.0)])]
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn bars_name_title_axis_categories_and_series() {
    let svg = bars("Figure 9 <K> & more", &names(&["mcf", "milc", "lbm"]), &two_series(), "per cent");
    let texts = texts(&svg);
    for expected in ["Figure 9 <K> & more", "mcf", "milc", "lbm", "dino", "linux", "per cent"] {
        assert!(texts.iter().any(|text| text == expected), "{expected} is not in {texts:?}");
    }
}

#[test]
fn a_value_that_was_not_measured_has_no_bar() {
    let all = |values: Vec<Option<f64>>| count(&bars("t", &names(&["a", "b"]), &[("s".into(), values)], "y"), "rect");
    assert_eq!(all(vec![Some(1.0), Some(2.0)]), all(vec![Some(1.0), None]) + 1);
    assert_eq!(all(vec![Some(1.0), Some(f64::NAN)]), all(vec![Some(1.0), None]));
}

#[test]
fn bars_have_lengths_in_proportion_to_their_values() {
    let svg = bars("t", &names(&["a", "b"]), &[(String::new(), vec![Some(1.0), Some(2.0)])], "y");
    let tree = roxmltree::Document::parse(&svg).unwrap();
    let blue = tree.descendants().filter(|node| node.attribute("fill") == Some("#0072B2"));
    let heights: Vec<f64> = blue.map(|node| node.attribute("height").unwrap().parse().unwrap()).collect();
    assert_eq!(heights.len(), 2);
    assert!((heights[1] - 2.0 * heights[0]).abs() <= 3.0, "{heights:?}");
}

#[test]
fn many_long_names_stand_upright_and_short_ones_do_not() {
    let upright = |names: &[String]| bars("t", names, &[], "y").contains("rotate(270");
    assert!(upright(&(0..12).map(|n| format!("a long name {n}")).collect::<Vec<_>>()));
    let flat = bars("t", &names(&["a", "b"]), &[], "");
    assert_eq!(flat.matches("rotate(270").count(), bars("t", &[], &[], "").matches("rotate(270").count());
}

#[test]
fn curves_on_a_logarithmic_axis_leave_out_what_it_cannot_show() {
    let points = vec![(0.0, 1.0), (1.0, 10.0), (4096.0, 75.0), (16384.0, f64::NAN)];
    let svg = curves("SRA", &[("forward".into(), points.clone())], "K", "SRA", true);
    assert_eq!(count(&svg, "circle"), 2);
    assert!(texts(&svg).iter().any(|text| text == "4096"), "{:?}", texts(&svg));
    assert_eq!(count(&curves("SRA", &[("forward".into(), points)], "K", "SRA", false), "circle"), 3);
}

/// With five values, the quartiles are the second, third and fourth. With two values, they are at a
/// quarter and at three quarters of the way.
#[test]
fn boxes_span_the_middle_half_and_whiskers_all() {
    assert_eq!(boxes::summary(&[5.0, 1.0, 2.0, 4.0, 3.0]), Some([1.0, 2.0, 3.0, 4.0, 5.0]));
    assert_eq!(boxes::summary(&[0.0, 4.0, f64::NAN]), Some([0.0, 1.0, 2.0, 3.0, 4.0]));
    assert_eq!(boxes::summary(&[]), None);
    let svg = |values: Vec<f64>| boxes("t", &names(&["M1", "M2"]), &[("linux".into(), vec![values, vec![1.0]])], "y");
    assert_eq!(count(&svg(vec![1.0, 2.0, 3.0]), "rect"), count(&svg(vec![]), "rect") + 2);
    let drawn = svg(vec![1.0, 2.0, 4.0]);
    assert!(["M1", "M2", "linux", "t", "y"].iter().all(|text| texts(&drawn).iter().any(|one| one == text)));
}

/// Whiskers and boxes of a wide series are longer than those of a narrow one, in proportion.
#[test]
fn a_wide_series_has_a_tall_box() {
    let series =
        [("wide".into(), vec![vec![0.0, 2.0, 4.0, 6.0, 8.0]]), ("narrow".into(), vec![vec![3.0, 3.5, 4.0, 4.5, 5.0]])];
    let svg = boxes("t", &names(&["M1"]), &series, "y");
    let tree = roxmltree::Document::parse(&svg).unwrap();
    let tall = |hex: &str| -> f64 {
        let frame = tree.descendants().filter(|n| n.has_tag_name("rect") && n.attribute("stroke") == Some(hex));
        frame.filter_map(|node| node.attribute("height")?.parse::<f64>().ok()).fold(0.0, f64::max)
    };
    assert!((tall("#0072B2") / tall("#D55E00") - 4.0).abs() < 0.2, "{svg}");
}

#[test]
fn a_scatter_plot_shows_every_finite_point_and_the_mean() {
    let points = |list: Vec<(f64, f64)>| scatter("t", &[("none".into(), list)], "unfairness", "STP");
    let shown = |list| count(&points(list), "circle");
    // Three points are drawn as three circles, and the mean as two circles, one above the other.
    assert_eq!(shown(vec![(1.0, 1.0), (0.9, 1.1), (0.8, 1.0)]), 5);
    assert_eq!(shown(vec![(1.0, 1.0), (f64::NAN, 1.1), (0.8, f64::INFINITY)]), 3);
    assert_eq!(shown(vec![]), 0);
    let kinds: Vec<_> = (0..5).map(|n| (format!("s{n}"), vec![(f64::from(n), 1.0)])).collect();
    let svg = scatter("t", &kinds, "x", "y");
    let polygons = count(&svg, "polygon");
    assert!(count(&svg, "circle") == 3 && polygons >= 6, "{polygons}");
}

#[test]
fn nothing_to_draw_is_still_a_figure() {
    texts(&boxes("", &[], &[], ""));
    texts(&scatter("", &[("one".into(), vec![(5.0, 5.0)])], "", ""));

    texts(&bars("", &[], &[], ""));
    texts(&curves("", &[], "", "", true));
    texts(&curves("", &[("one".into(), vec![(5.0, 5.0)])], "", "", true));
    texts(&curves("", &[("one".into(), vec![(5.0, 0.0)])], "", "", false));
}

fn label() -> impl Strategy<Value = String> {
    prop::collection::vec(any::<char>(), 0..12).prop_map(|chars| chars.into_iter().collect())
}

proptest! {
    #[test]
    fn any_text_and_number_make_well_formed_xml_and_the_same_bytes(
        title in label(),
        name in label(),
        values in prop::collection::vec(-1e9..1e9_f64, 0..6),
    ) {
        let series = vec![(name.clone(), values.iter().copied().map(Some).collect())];
        let categories: Vec<String> = values.iter().map(|_| name.clone()).collect();
        let first = bars(&title, &categories, &series, &name);
        texts(&first);
        assert_eq!(first, bars(&title, &categories, &series, &name));
        let lists = vec![(name.clone(), values.iter().map(|v| vec![*v, -*v]).collect())];
        let third = boxes(&title, &categories, &lists, &name);
        texts(&third);
        assert_eq!(third, boxes(&title, &categories, &lists, &name));
        let points = vec![(name.clone(), values.iter().map(|v| (v.abs(), *v)).collect())];
        texts(&scatter(&title, &points, &name, &title));
        let second = curves(&title, &points, &name, &title, values.len() % 2 == 0);
        texts(&second);
        assert_eq!(second, curves(&title, &points, &name, &title, values.len() % 2 == 0));
    }
}

#[test]
fn parts_add_up_and_nothing_takes_no_room() {
    let rects = |values: Vec<f64>| count(&parts("t", &names(&["a"]), &[("n0".into(), values)], "y"), "rect");
    // Each part is a filled rectangle with a frame.
    assert_eq!(rects(vec![3.0]), rects(vec![0.0]) + 2);
    assert_eq!(rects(vec![f64::NAN]), rects(vec![-1.0]));
    let svg = parts("Pages", &names(&["mixed"]), &[("node 0".into(), vec![1.0]), ("node 1".into(), vec![3.0])], "%");
    let texts = texts(&svg);
    assert!(["Pages", "mixed", "node 0", "node 1", "%"].iter().all(|word| texts.iter().any(|text| text == word)));
}

#[test]
fn panels_leave_gaps_and_share_an_axis() {
    let panel = |points: &[(f64, f64)], columns| Panel {
        y_label: "exclusivity, %".into(),
        y_range: Some(0.0..100.0),
        points: points.to_vec(),
        columns,
    };
    let whole = panels("t", &[panel(&[(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)], false)], "s");
    let gap = panels("t", &[panel(&[(0.0, 1.0), (1.0, 2.0), (1.5, f64::NAN), (2.0, 3.0), (3.0, 3.0)], false)], "s");
    let lines = |svg: &str| {
        let tree = roxmltree::Document::parse(svg).unwrap();
        tree.descendants().filter(|node| node.attribute("stroke") == Some("#0072B2")).count()
    };
    assert_eq!((lines(&whole), lines(&gap)), (1, 2));
    let both = panels("t", &[panel(&[(0.0, 1.0)], false), panel(&[(0.0, 5.0)], true)], "time, s");
    assert_eq!(texts(&both).iter().filter(|text| *text == "time, s").count(), 1);
    texts(&panels("nothing", &[], ""));
}

#[test]
fn a_heat_map_has_a_key_and_leaves_white_what_is_cold() {
    let grid = |columns| Grid {
        columns,
        x_end: 1.5,
        x_label: "time, s".into(),
        y_label: "address".into(),
        rows: vec![(0, "0x1000".into())],
        key: "accesses".into(),
    };
    let svg = heat("Heat <of> a program", &grid(vec![vec![1, 0], vec![100, 100]]));
    let texts = texts(&svg);
    for expected in ["Heat <of> a program", "time, s", "address", "0x1000", "accesses", "100"] {
        assert!(texts.iter().any(|text| text == expected), "{expected} is not in {texts:?}");
    }
    let rects = |columns| count(&heat("t", &grid(columns)), "rect");
    assert_eq!(rects(vec![vec![1, 0], vec![0, 0]]), rects(vec![vec![0, 0], vec![0, 0]]) + 1);
    rects(Vec::new());
}
