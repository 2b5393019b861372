//! Machine files: what is read, what is written, and what is refused, in one line that names the
//! file, the key and the remedy.

use numasim_model::Spec;
use proptest::prelude::*;

const SMALL: &str = include_str!("../../../machines/small-2x2.toml");

fn parse(from: &str, to: &str) -> Result<Spec, String> {
    assert!(SMALL.contains(from), "the file no longer has `{from}`");
    Spec::parse(&SMALL.replacen(from, to, 1), "m.toml").map_err(|error| error.to_string())
}

fn refused(from: &str, to: &str, message: &str) {
    assert_eq!(parse(from, to).unwrap_err(), message);
}

#[test]
fn defaults_are_those_of_the_documentation() {
    let spec = Spec::parse(SMALL, "m.toml").unwrap();
    assert_eq!((spec.prefetch.streams, spec.prefetch.depth, spec.llc[0].clos, spec.line_bytes), (8, 8, 16, 64));
    assert!(spec.delays && spec.hole_start_mib() == 2816 && spec.private.hit_ns == 0.0);
    assert_eq!((spec.cpus(), spec.instruction_ps()), (4, 10_000.0));
    assert_eq!(spec.memory(), [(0, 512), (512, 512)]);
    assert_eq!(parse("[private]", "cycles_per_instruction = 1.5\n[private]").unwrap().instruction_ps(), 15_000.0);
}

/// As many as the page has room for.
#[test]
fn more_caches_than_the_page_holds_are_refused() {
    let mut spec = Spec::parse(SMALL, "m.toml").unwrap();
    spec.llc = vec![spec.llc[0].clone(); 17];
    assert_eq!(spec.validate().unwrap_err().to_string(), format!("{}: `llc` must be listed 1 to 16 times", spec.name));
}

#[test]
fn an_unknown_key_is_named_with_its_line() {
    let error = parse("ways = 8", "ways = 8\nway = 8").unwrap_err();
    assert_eq!(error, "m.toml: line 11: unknown field `way`, expected one of `size_kib`, `ways`, `hit_ns`");
    assert!(parse("name = ", "nane = ").unwrap_err().contains("unknown field `nane`"));
    assert!(parse("mb_per_s = 1000.0", "gb_per_s = 1.0").unwrap_err().contains("`gb_per_s`"));
    assert!(parse("clock_mhz = 100.0\n", "").unwrap_err().contains("missing field `clock_mhz`"));
    assert!(parse("cpus = \"0-1\"", "cpus = \"1-0\"").unwrap_err().contains("`1-0` is no CPU list"));
}

#[test]
fn a_cache_that_cannot_be_is_refused_with_sizes_that_can() {
    let message = "m.toml: `private.size_kib` is 12; with 8 ways it must be 64 bytes times the ways times a \
                   power of two: 8 or 16";
    refused("size_kib = 8", "size_kib = 12", message);
    let message = "m.toml: `private.size_kib` is 8; with 11 ways it must be 64 bytes times the ways times a \
                   power of two: 5.5 or 11";
    refused("ways = 8", "ways = 11", message);
    let message = "m.toml: `llc.size_kib` is 256; with 11 ways it must be a multiple of 704 bytes, such as \
                   255.75 or 256.4375 KiB";
    refused("ways = 16", "ways = 11", message);
    assert!(
        parse("size_kib = 256\nways = 16", "size_kib = 440\nways = 11").is_ok(),
        "27.5 MiB of 11 ways, 64 times smaller"
    );
    refused("ways = 16", "ways = 65", "m.toml: `llc.ways` is 65; it must be from 1 to 64");
}

#[test]
fn a_tlb_is_asked_for_and_has_sets() {
    assert_eq!(Spec::parse(SMALL, "m.toml").unwrap().tlb, None);
    let with = |tlb: &str| parse("[queue]", &format!("[tlb]\n{tlb}\nwalk_ns = 300.0\n[queue]"));
    assert_eq!(with("entries = 32\nways = 4").unwrap().tlb.unwrap().entries, 32);
    let message = "m.toml: `tlb.entries` is 48; with 4 ways it must be 4 times a power of two: 32 or 64";
    assert_eq!(with("entries = 48\nways = 4").unwrap_err(), message);
    assert_eq!(with("entries = 0\nways = 1").unwrap_err(), "m.toml: `tlb.entries` is 0; it must be from 1 to 65536");
    assert!(with("entries = 4").unwrap_err().contains("missing field `ways`"));
}

#[test]
fn cpus_are_each_on_one_node_and_one_llc() {
    refused(
        "cpus = \"2-3\"",
        "cpus = \"1-3\"",
        "m.toml: `node.cpus` must name every CPU from 0 to 4 exactly once; look at CPU 1",
    );
    refused(
        "cpus = \"2-3\"",
        "cpus = \"3-4\"",
        "m.toml: `node.cpus` must name every CPU from 0 to 3 exactly once; look at CPU 2",
    );
    let (before, llcs) = SMALL.split_once("[[llc]]").unwrap();
    let text = format!("{before}[[llc]]{}", llcs.replace("\"2-3\"", "\"2\""));
    let error = Spec::parse(&text, "m.toml").unwrap_err().to_string();
    assert_eq!(error, "m.toml: `llc.cpus` must name every CPU from 0 to 3 exactly once; look at CPU 3");
}

#[test]
fn numbers_beyond_reason_are_refused() {
    refused(
        "mb_per_s = 1000.0",
        "mb_per_s = 0.0",
        "m.toml: `node.mb_per_s` is 0; it must be a number above 0, at most 1e9",
    );
    refused(
        "clock_mhz = 100.0",
        "clock_mhz = nan",
        "m.toml: `clock_mhz` is NaN; it must be a number above 0, at most 1e9",
    );
    refused("hit_ns = 400.0", "hit_ns = -1.0", "m.toml: `llc.hit_ns` is -1; it must be a number above 0, at most 1e9");
    refused("[1200.0, 2000.0], ", "", "m.toml: `latency.ns` must have 2 rows of 2 values, one for each node");
    refused("[private]", "line_bytes = 128\n[private]", "m.toml: `line_bytes` is 128; it must be from 64 to 64");
    refused("[private]", "[prefetch]\ndepth = 0\n[private]", "m.toml: `prefetch.depth` is 0; it must be from 1 to 64");
    refused("a = 0\nb = 1", "a = 1\nb = 1", "m.toml: `link.b` joins node 1 to itself; name another node");
    refused("id = 1", "id = 2", "m.toml: `node.id` is 2; entries are numbered in order from 0, so this one is 1");
    let message = "m.toml: `node.memory_mib` ends at 131584; at most 131072 in all";
    refused("memory_mib = 512", "memory_mib = 131072", message);
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        numbers in (1e-3..1e6f64, 1.0..1e4f64, 1.0..1e4f64, 0.0..1e3f64), depth in 1..65_u32
    ) {
        let mut spec = Spec::parse(SMALL, "m.toml").unwrap();
        (spec.clock_mhz, spec.latency.ns[0][1], spec.link[0].mb_per_s_each_way, _) = numbers;
        spec.prefetch.depth = depth;
        spec.private.hit_ns = if numbers.3 < 1.0 { 0.0 } else { numbers.3 };
        spec.name = "a \"b\"\n\u{7}".to_owned();
        spec.route.push(numasim_model::Route { from: 0, to: 1, via: vec![] });
        let text = spec.to_toml().unwrap();
        prop_assert_eq!(Spec::parse(&text, "again").unwrap(), spec);
    }

    #[test]
    fn any_text_gives_one_line_or_a_machine(text in "[ -~\n]{0,200}", at in 0..1500_usize) {
        let whole = format!("{}{text}{}", &SMALL[..at.min(SMALL.len())], &SMALL[at.min(SMALL.len())..]);
        if let Err(error) = Spec::parse(&whole, "m.toml") {
            let line = error.to_string();
            prop_assert!(line.starts_with("m.toml: ") && !line.contains('\n'), "{line}");
        }
    }
}
