//! Converts a page trace of numasim to a trace of isobar. The plugin knows no processes, so an
//! access counts for a page of the command if it goes to the frame that the page had when the
//! command ended. Accesses to other frames at addresses of the command are reported as missing:
//! they belong to pages that moved, or to other programs.

use crate::space;
use anyhow::{Context, bail};
use isobar_pages::trace::{End, FirstTouch, Header, Placed, Row, Slice, Thread, Writer};
use numasim_guest::wire::{PAGE_TRACE_VERSION, PageTraceHead, Pages};
use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, Write};
use std::ops::Range;
use std::time::Duration;

const PAGE_BYTES: u64 = 4096;

/// Which accesses are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Loads and stores.
    Accesses,
    /// Accesses that memory had to answer, as loads.
    Misses,
}

/// Reads a page trace and writes a trace, slice by slice. Slices that do not begin in `counted`
/// leave first touches, and no counts.
///
/// # Errors
/// A line is wrong, and is named; or a file cannot be read or written.
pub fn convert(mut from: impl BufRead, to: impl Write, of: Of, counted: &Range<Duration>) -> anyhow::Result<()> {
    let head: PageTraceHead = line(&mut from, 1)?;
    if head.numasim_pages != PAGE_TRACE_VERSION {
        bail!("line 1: a page trace of version {}; expected version {PAGE_TRACE_VERSION}", head.numasim_pages);
    }
    let pages: Pages = line(&mut from, 2)?;
    let mut writer = Writer::new(to, &header(&head, of))?;
    for cpu in 0..head.cpus {
        writer.thread(&Thread { number: cpu, tid: cpu, name: Some(format!("CPU {cpu}")) })?;
    }
    let regions = space::regions(&pages.maps);
    regions.iter().try_for_each(|region| writer.region(region))?;
    let inside = |page: u64| regions.iter().any(|region| (region.start..region.end).contains(&(page * PAGE_BYTES)));
    let slices = |time: Duration| time.as_nanos().div_ceil(u128::from(head.slice_ns.max(1)));
    let mut lines = Lines {
        of,
        counted: slices(counted.start)..slices(counted.end),
        cpus: head.cpus,
        frames: pages.frames.iter().copied().collect(),
        pages: Vec::new(),
        slice: Slice::default(),
        nodes: BTreeMap::new(),
        elsewhere: 0,
        ran: None,
    };
    for (number, text) in (3_u64..).zip(from.lines()) {
        let text = text.with_context(|| format!("line {number}"))?;
        let done =
            lines.take(&text, &inside).with_context(|| format!("line {number}: {text:?}: expected p, a, s or e"))?;
        done.map_or(Ok(()), |slice| writer.slice(&slice))?;
    }
    let ran = lines.ran.context("it has no end: the guest went down, or the file is still being written")?;
    let placed = Placed { slice: lines.slice.number, nodes: head.nodes, pages: lines.nodes.into_iter().collect() };
    writer.placed(&placed)?;
    let missing = (lines.elsewhere > 0).then(|| {
        format!(
            "{} accesses at its addresses to memory that it did not have at its end, because pages moved or other \
             programs ran",
            lines.elsewhere
        )
    });
    let bound = "which thread made an access, because rows belong to CPUs".to_owned();
    writer.end(&End {
        ran_ns: ran / 1000,
        status: pages.status,
        missing: missing.into_iter().chain([bound]).collect(),
    })?;
    Ok(())
}

fn line<T: serde::de::DeserializeOwned>(from: &mut impl BufRead, number: u32) -> anyhow::Result<T> {
    let mut text = String::new();
    from.read_line(&mut text)?;
    serde_json::from_str(&text)
        .with_context(|| format!("line {number}: not from a page trace of `numasim boot --page-trace`"))
}

fn header(head: &PageTraceHead, of: Of) -> Header {
    let what = if of == Of::Misses { ", misses" } else { "" };
    Header {
        engine: format!("numasim ({}{what})", head.machine),
        sampled: None,
        page_bytes: PAGE_BYTES,
        slice_ns: head.slice_ns,
        command: head.command.clone(),
    }
}

/// The owner of a pair of page and frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// The command; the page.
    Own(u64),
    /// An address of the command, but another frame.
    Elsewhere,
    /// Anything else, which does not matter.
    Others,
}

/// What is known from the plugin's lines so far.
struct Lines {
    of: Of,
    /// Slices that count.
    counted: Range<u128>,
    cpus: u32,
    frames: HashMap<u64, u64>,
    /// Owners of pages, by the plugin's number.
    pages: Vec<Whose>,
    slice: Slice,
    nodes: BTreeMap<u64, u16>,
    elsewhere: u64,
    /// How long the command ran, in picoseconds; `None` before its end.
    ran: Option<u64>,
}

impl Lines {
    /// Takes a line. Returns the slice if the line ends one; `None` if the line is not valid.
    fn take(&mut self, text: &str, inside: &dyn Fn(u64) -> bool) -> Option<Option<Slice>> {
        let mut words = text.split(' ');
        let kind = words.next().filter(|_| self.ran.is_none())?;
        let words: Vec<&str> = words.collect();
        match (kind, words.as_slice()) {
            ("p", [page, frame, node, cpu]) => {
                let hex = |text| u64::from_str_radix(text, 16).ok();
                self.page(hex(page)?, hex(frame)?, node.parse().ok()?, self.cpu(cpu)?, inside);
            }
            ("a", [number, cpu, counts @ ..]) => {
                let counts: Vec<u64> = counts.iter().map(|count| count.parse().ok()).collect::<Option<_>>()?;
                let [loads, stores, misses, _waited] = *counts.as_slice() else { return None };
                let (loads, stores) = if self.of == Of::Misses { (misses, 0) } else { (loads, stores) };
                let page = *self.pages.get(number.parse::<usize>().ok()?)?;
                self.accesses(page, self.cpu(cpu)?, loads, stores);
            }
            ("s", [number]) => {
                let number: u64 = number.parse().ok()?;
                if !self.counted.contains(&u128::from(number)) {
                    self.slice.rows.clear();
                }
                self.slice.rows.sort_unstable();
                let done = Slice { number, ..std::mem::take(&mut self.slice) };
                self.slice.number = number;
                return Some(Some(done).filter(|slice| !slice.rows.is_empty() || !slice.first.is_empty()));
            }
            ("e", [time]) => self.ran = Some(time.parse().ok()?),
            _ => return None,
        }
        Some(None)
    }

    fn cpu(&self, text: &str) -> Option<u32> {
        text.parse().ok().filter(|cpu| *cpu < self.cpus)
    }

    fn page(&mut self, page: u64, frame: u64, node: u16, cpu: u32, inside: &dyn Fn(u64) -> bool) {
        let whose = match self.frames.get(&page) {
            Some(own) if *own == frame => Whose::Own(page),
            _ if inside(page) => Whose::Elsewhere,
            _ => Whose::Others,
        };
        if let Whose::Own(page) = whose {
            self.slice.first.push(FirstTouch { page, thread: cpu });
            self.nodes.insert(page, node);
        }
        self.pages.push(whose);
    }

    fn accesses(&mut self, whose: Whose, cpu: u32, loads: u64, stores: u64) {
        match whose {
            Whose::Own(page) if loads + stores > 0 => self.slice.rows.push(Row { page, thread: cpu, loads, stores }),
            Whose::Elsewhere => self.elsewhere = self.elsewhere.saturating_add(loads).saturating_add(stores),
            Whose::Own(_) | Whose::Others => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_pages::PageProfile;

    const HEAD: &str = r#"{"numasim_pages":1,"machine":"m","nodes":2,"cpus":2,"slice_ns":100,"command":["x"]}"#;
    const PAGES: &str =
        r#"{"status":0,"maps":"00001000-00004000 rw-p 00000000 00:02 9 /bin/x\n","frames":[[1,16],[2,32],[3,48]]}"#;

    fn converted(lines: &str, of: Of) -> anyhow::Result<PageProfile> {
        since(lines, of, 0)
    }

    fn since(lines: &str, of: Of, after: u64) -> anyhow::Result<PageProfile> {
        let mut out = Vec::new();
        convert(
            format!("{HEAD}\n{PAGES}\n{lines}").as_bytes(),
            &mut out,
            of,
            &(Duration::from_nanos(after)..Duration::MAX),
        )?;
        Ok(PageProfile::read(out.as_slice())?)
    }

    const LINES: &str = "p 2 20 1 1\np 1 10 0 0\np 2 21 0 0\np 9 9 0 0\na 0 1 5 1 2 9\na 1 0 3 0 1 9\na 2 0 7 0 0 0\n\
                         a 3 0 8 0 0 0\ns 0\na 0 0 1 0 0 0\na 0 1 1 0 1 0\ns 4\ne 500000\n";

    #[test]
    fn accesses_count_where_the_page_has_the_frame_of_the_end() {
        let found = converted(LINES, Of::Accesses).unwrap();
        let rows: Vec<_> = found.usage.rows().map(|(page, row)| (page.number, page.first, row.to_vec())).collect();
        assert_eq!(rows, [(2, 1, vec![1, 7]), (1, 0, vec![3, 0])]);
        assert_eq!(found.linux.unwrap().node_of, [Some(1), Some(0)]);
        let end = found.end.unwrap();
        assert_eq!((end.ran_ns, end.status), (500, Some(0)));
        assert!(end.missing[0].starts_with("7 accesses at its addresses"), "{:?}", end.missing);
        let misses = converted(LINES, Of::Misses).unwrap();
        assert_eq!(misses.usage.rows().map(|(_, row)| row.to_vec()).collect::<Vec<_>>(), [vec![0, 3], vec![1, 0]]);
        let later = since(LINES, Of::Accesses, 350).unwrap();
        assert_eq!(later.usage.rows().map(|(_, row)| row.to_vec()).collect::<Vec<_>>(), [vec![1, 1], vec![0, 0]]);
    }

    #[test]
    fn what_is_wrong_is_named_by_its_line() {
        for (lines, given) in [
            ("p 2 20 1\n", "line 3: \"p 2 20 1\""),
            ("p 2 20 1 7\n", "line 3"),
            ("p 2 20 1 1\na 1 1 5 1 2 9\n", "line 4"),
            ("e 5\ne 5\n", "line 4"),
            ("s 0\n", "it has no end"),
        ] {
            let why = format!("{:#}", converted(lines, Of::Accesses).unwrap_err());
            assert!(why.contains(given), "{why}");
        }
    }
}
