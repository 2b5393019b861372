//! The page-migration study of the DINO paper:
//! `cargo run --release -p isobar-lab --example sra [-- quick|paper [seconds [folder]]]`. Prints
//! the table; with a folder, writes the figures and the study as JSON into it.

use isobar_lab::sra::{Spec, figures, study, table};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut spec = match words.first().map_or("quick", String::as_str) {
        "quick" => Spec::quick(),
        "paper" => Spec::paper(),
        other => return Err(format!("`{other}` is no study; there are `quick` and `paper`").into()),
    };
    if let Some(seconds) = words.get(1) {
        spec.seconds = seconds.parse()?;
    }
    let study = study(&spec)?;
    print!("{}", table(&study));
    let Some(folder) = words.get(2).map(Path::new) else { return Ok(()) };
    for (name, svg) in figures(&study) {
        std::fs::write(folder.join(name), svg)?;
    }
    std::fs::write(folder.join("dino-sra.json"), serde_json::to_string_pretty(&study)?)?;
    Ok(())
}
