//! Makes the page of a page trace: accesses by address and time, and the report of `isobar pages`.

use super::title;
use crate::failure::bad_input;
use crate::text::{plain, plural};
use crate::usage::{ReportDocument, document};
use crate::verbs::pages::{Placed, Source, read};
use isobar_model::{Bytes, num};
use isobar_pages::Homes;
use isobar_pages::report::{Accesses, Advice, Course, Question, Report};
use isobar_report::{Band, Head, Heat, Layer, PageUse};
use std::path::Path;

/// Threads beyond this number share the colour of their node, because a page with that many colours
/// cannot be read.
const THREADS: usize = 64;

/// The page, and a description of its contents.
///
/// # Errors
/// Bad input: a file that is damaged, or threads that do not fit the file.
pub fn page(file: &Path, placed: &Placed) -> anyhow::Result<(String, String)> {
    let of_file = |why: &dyn std::fmt::Display| bad_input(format!("{}: {why}", file.display()));
    let read = read(file)?;
    let homes = placed.homes(read.profile.usage.threads())?;
    let course = read.course(&homes, placed.page_size)?;
    let question =
        Question { homes: &homes, min_excl: placed.min_excl, page_bytes: placed.page_size, sweep: false, course };
    let report = Report::of(&read.profile, question).map_err(|why| of_file(&why))?;
    let advice = Advice::of(&report, &read.profile, &file.to_string_lossy());
    let name = title(file);
    let shown = ReportDocument {
        name: &name,
        profile: &read.profile,
        report: &report,
        advice: &advice,
        remarks: &read.remarks,
    };
    let heat = heat(&read, &homes)?;
    let page = PageUse {
        summary: words(&shown),
        usage: document(&shown),
        head: Head { title: name.clone(), facts: facts(&shown), remarks: remarks(&shown, heat.is_some()) },
        heat,
        ..times(report.course.as_ref())
    };
    Ok((page.html(), plural(report.pages, "page")))
}

fn facts(shown: &ReportDocument<'_>) -> Vec<(String, String)> {
    let header = &shown.profile.header;
    let mut facts = Vec::new();
    if !header.command.is_empty() {
        facts.push(("command", plain(&header.command.join(" ")).into_owned()));
    }
    if !header.engine.is_empty() {
        facts.push(("recorded by", plain(&header.engine).into_owned()));
    }
    facts.push(("threads", shown.report.threads.to_string()));
    facts.push(("nodes", shown.report.nodes.to_string()));
    facts.push(("page", Bytes(shown.report.page_bytes).human()));
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn remarks(shown: &ReportDocument<'_>, timed: bool) -> Vec<String> {
    let mut all: Vec<String> = shown.remarks.iter().map(|text| plain(text).into_owned()).collect();
    if !timed {
        all.push("The file has no time slices, so accesses over time are not known.".to_owned());
    }
    if shown.report.nodes == 1 {
        all.push("One node: there is nothing to place. --nodes N shows the program on N nodes.".to_owned());
    }
    all
}

/// The conclusions for a reader.
fn words(shown: &ReportDocument<'_>) -> Vec<String> {
    let ReportDocument { report, advice, .. } = shown;
    let size = Bytes(report.page_bytes.saturating_mul(u64::try_from(report.pages).unwrap_or(u64::MAX))).human();
    let length = |course: &Course| num::float_len(course.points.len()) * course.point_seconds;
    let course = report.course.as_ref();
    let took = course.map_or(String::new(), |course| format!(" in {:.2} s of the traced run", length(course)));
    let mut lines =
        vec![format!("{} accessed {} ({size}){took}.", plural(report.threads, "thread"), plural(report.pages, "page"))];
    if report.nodes > 1 {
        let exclusive = report.exclusivity.map(|part| num::round(part * 100.0));
        lines.extend(exclusive.map(|part| {
            format!("{part} % of the accesses to a page come, on average, from the node that accesses it most.")
        }));
        lines.extend(advice.policy.map(|policy| format!("The mapping `{policy}` suits it.")));
    }
    lines.extend(advice.reasons.iter().chain(&advice.cost).map(|text| capital(text)));
    lines.extend(advice.cautions.iter().map(|text| format!("But: {}", capital(text))));
    lines.iter().map(|line| plain(line).into_owned()).collect()
}

fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// Points in time. Neighbouring points are merged if there are more than a chart can show.
fn times(course: Option<&Course>) -> PageUse {
    let nothing = PageUse {
        head: Head::default(),
        summary: Vec::new(),
        usage: serde_json::Value::Null,
        times: Vec::new(),
        accesses: Vec::new(),
        exclusivity: Vec::new(),
        migrations: Vec::new(),
        heat: None,
    };
    let Some(course) = course else { return nothing };
    let float = |count: u128| num::float(u64::try_from(count).unwrap_or(u64::MAX));
    let brief = |seconds: f64| (seconds * 1e6).round() / 1e6;
    PageUse {
        times: course.points.iter().map(|point| brief(point.begin + course.point_seconds)).collect(),
        accesses: course.points.iter().map(|point| float(point.accesses)).collect(),
        exclusivity: course
            .points
            .iter()
            .map(|point| point.exclusivity.map(|part| (part * 1e4).round() / 1e4))
            .collect(),
        migrations: course.points.iter().map(|point| point.migrations).collect(),
        ..nothing
    }
}

/// Accesses by address and time, coloured by node if there are several, and by thread.
fn heat(read: &Source, homes: &Homes) -> anyhow::Result<Option<Heat>> {
    let profile = &read.profile;
    let threads = profile.usage.threads();
    let apart = threads <= THREADS;
    let own: Vec<u16> = (0..threads).map(|thread| u16::try_from(thread).unwrap_or(u16::MAX)).collect();
    let (of, accessors) = if apart { (&own[..], threads) } else { (homes.of_thread(), homes.nodes()) };
    let mut summing = Accesses::of(profile, of, accessors);
    let mut wrong = None;
    let timed = read.slices(|view| {
        match view.slice() {
            Ok(slice) => summing.add(&slice),
            Err(why) => wrong = Some(why),
        }
        Ok(())
    })?;
    if let Some(why) = wrong {
        return Err(bad_input(format!("{}: {why}", read.path.display())));
    }
    Ok(timed.then(|| drawn(&summing.finish(), layers(read, homes, apart), read)))
}

fn layers(read: &Source, homes: &Homes, apart: bool) -> Vec<Layer> {
    let nodes = || Layer {
        name: "node".to_owned(),
        names: (0..homes.nodes()).map(|node| format!("node {node}")).collect(),
        of: if apart {
            homes.of_thread().iter().map(|node| usize::from(*node)).collect()
        } else {
            (0..homes.nodes()).collect()
        },
    };
    let named = |(at, name): (usize, &String)| {
        let number = format!("T{at}");
        if *name == number { number } else { format!("{number} {}", plain(name)) }
    };
    let threads = || Layer {
        name: "thread".to_owned(),
        names: read.profile.threads.iter().enumerate().map(named).collect(),
        of: (0..read.profile.threads.len()).collect(),
    };
    let both = [(homes.nodes() > 1 || !apart).then(nodes), apart.then(threads)];
    both.into_iter().flatten().collect()
}

fn drawn(found: &Accesses, layers: Vec<Layer>, read: &Source) -> Heat {
    let slice = num::float(read.profile.header.slice_ns) / 1e9;
    let band = |band: &isobar_pages::report::Band| Band {
        address: band.address.to_string(),
        pages: band.pages,
        structure: band.structure,
        first: layers.iter().map(|layer| layer.most(&band.first).0).collect(),
        first_seconds: band.first_slice.map(|number| num::float(number) * slice),
    };
    let bands = found.bands.iter().map(band).collect();
    let structures = read.profile.structures.iter().map(|one| plain(&one.name).into_owned()).collect();
    let mut heat = Heat { column_seconds: found.column_seconds, structures, bands, layers, cells: Vec::new() };
    for column in &found.columns {
        heat.column(column.chunks(found.accessors.max(1)));
    }
    heat
}
