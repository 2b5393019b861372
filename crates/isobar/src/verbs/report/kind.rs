//! Recognises the kind of a file by its content.

use crate::failure::bad_input;
use anyhow::Context;
use isobar_pages::trace::MAGIC;
use isobar_report::{Reproduction, Simulation, Study};
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The first bytes of an SQLite file.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// A document larger than this was named by mistake: a study with 100,000 answers has a quarter of
/// it.
const MOST: u64 = 512 << 20;

/// The kind of a file, with its content if it was read.
pub enum Content {
    /// A recording, read later.
    Recording,
    /// A page trace, or a page profile of another tool, read later.
    Trace,
    /// A comparison of policies.
    Simulation(Value),
    /// Answers of a study.
    Study(Vec<Value>),
    /// Claims of papers.
    Reproduction(Value),
}

impl Content {
    /// The name of the kind, for people.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Recording => "a recording",
            Self::Trace => "a page trace",
            Self::Simulation(_) => "a simulation",
            Self::Study(_) => "a study",
            Self::Reproduction(_) => "a reproduction",
        }
    }
}

/// Determines the kind of a file, and reads documents, which can only be read once. Recordings and
/// traces are left to their own readers.
///
/// # Errors
/// Bad input: the file is nothing that a report can be made from.
pub fn read(path: &Path) -> anyhow::Result<Content> {
    let name = path.display().to_string();
    let cannot = |why: std::io::Error| bad_input(format!("{name}: cannot be read: {why}"));
    let mut file = File::open(path).map_err(cannot)?;
    if file.metadata().map_err(cannot)?.is_dir() {
        return Err(bad_input(format!("{name}: is a folder: {EXPECTED}")));
    }
    let mut bytes = Vec::new();
    file.by_ref().take(16).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes == SQLITE {
        return Ok(Content::Recording);
    }
    if bytes.starts_with(&MAGIC) {
        return Ok(Content::Trace);
    }
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return profile(path, &bytes);
    }
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > MOST {
        return Err(bad_input(format!("{name}: is larger than 512 MiB: {EXPECTED}")));
    }
    document(&name, &bytes)
}

const EXPECTED: &str = "expected a recording (`isobar record`), a trace (`isobar trace`), or what `isobar sim`, `study` or \
                        `reproduce` print with --json";

/// Recognises text that is not JSON: the header of a page profile of numalize.
fn profile(path: &Path, head: &[u8]) -> anyhow::Result<Content> {
    if head.starts_with(b"page.address") {
        return Ok(Content::Trace);
    }
    Err(bad_input(format!("{}: is not a file that a report can show: {EXPECTED}", path.display())))
}

fn document(name: &str, bytes: &[u8]) -> anyhow::Result<Content> {
    let mut documents = Vec::new();
    for (at, document) in serde_json::Deserializer::from_slice(bytes).into_iter::<Value>().enumerate() {
        let document =
            document.map_err(|why| bad_input(format!("{name}: JSON document {}: {why}: {EXPECTED}", at + 1)))?;
        documents.push(document);
    }
    let first = documents.first().context("a file that begins with { has a document")?;
    if Study::is(first) {
        return Ok(Content::Study(documents));
    }
    if first.get("sensitivity").is_some() {
        return Err(bad_input(format!(
            "{name}: is from `reproduce --sensitivity`, for which there is no page: run it without --sensitivity"
        )));
    }
    if documents.len() > 1 {
        return Err(bad_input(format!(
            "{name}: has {} JSON documents, which are not answers of a study: {EXPECTED}",
            documents.len()
        )));
    }
    match documents.pop() {
        Some(one) if Simulation::is(&one) => Ok(Content::Simulation(one)),
        Some(one) if Reproduction::is(&one) => Ok(Content::Reproduction(one)),
        _ => Err(bad_input(format!("{name}: is JSON, but not of a kind that a report can show: {EXPECTED}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(content: &[u8]) -> Result<&'static str, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, content).unwrap();
        read(&path).map(|content| content.name()).map_err(|why| why.to_string())
    }

    #[test]
    fn content_says_what_a_file_is() {
        let row = br#"{"algorithm": "none", "apps": [], "proved_optimal": false}"#;
        assert_eq!(kind(b"SQLite format 3\0 and more"), Ok("a recording"));
        assert_eq!(kind(b"ISOBARTR\x02\0\0\0"), Ok("a page trace"));
        assert_eq!(kind(b"page.address,alloc.thread"), Ok("a page trace"));
        assert_eq!(kind(b" {\"policies\": []}\n"), Ok("a simulation"));
        assert_eq!(kind(b"{\"comparisons\": []}"), Ok("a simulation"));
        assert_eq!(kind(b"{\"papers\": []}"), Ok("a reproduction"));
        assert_eq!(kind(&[&row[..], b"\n", row].concat()), Ok("a study"));
    }

    #[test]
    fn anything_else_is_refused_in_one_line() {
        for (content, piece) in [
            (&b""[..], "not a file that a report can show: expected a recording"),
            (b"\0\0\0\0", "not a file that a report can show"),
            (b"{\"a\": ", "JSON document 1: EOF"),
            (b"{\"a\": 1}", "is JSON, but not of a kind"),
            (b"{\"policies\": []} {\"policies\": []}", "has 2 JSON documents"),
            (b"{\"sensitivity\": []}", "for which there is no page"),
        ] {
            let why = kind(content).unwrap_err();
            assert!(why.contains(piece) && !why.contains('\n'), "{why}");
        }
    }
}
