//! `numasim-ways --llc 0 --class 1 --mask 0xff --cpus 0-1`: gives a class of service some ways of a
//! last-level cache and puts CPUs into that class, from within the guest. `numasim-ways --reset`
//! puts all CPUs into class 0 and gives all classes all ways. The program ends when the change is
//! in force.
//!
//! It knows words and numbers; the page's own checks know what a machine can have.

#![forbid(unsafe_code)]

use clap::Parser;
use numasim_page::{Guest, Mapping, PageError, Words};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Set the ways of a class of service, and the class of CPUs, on numasim's machine.
#[derive(Parser, Debug)]
#[command(name = "numasim-ways", version)]
struct Args {
    /// The file behind the page (on the host); without it, the ivshmem device of this guest.
    file: Option<PathBuf>,
    /// Put all CPUs into class 0 and give all classes all ways.
    #[arg(long, conflicts_with_all = ["llc", "class", "mask", "cpus"])]
    reset: bool,
    /// The last-level cache.
    #[arg(long, default_value_t = 0)]
    llc: usize,
    /// The class of service.
    #[arg(long, required_unless_present = "reset")]
    class: Option<usize>,
    /// Its ways, a bit each, such as 0xff; without it they stay.
    #[arg(long, value_parser = mask)]
    mask: Option<u64>,
    /// CPUs that are put into the class, such as 0-1,4.
    #[arg(long, value_parser = cpus)]
    cpus: Option<Cpus>,
}

type Cpus = std::sync::Arc<[RangeInclusive<usize>]>;

/// A window of guest time is some 100 us: a change that is not in force after this time never will
/// be.
const PATIENCE: Duration = Duration::from_secs(2);

fn mask(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x");
    let read = digits.map_or_else(|| text.parse(), |digits| u64::from_str_radix(digits, 16));
    read.map_err(|_| "expected a mask such as 0xff or 255".to_owned())
}

fn cpus(text: &str) -> Result<Cpus, String> {
    text.split(',')
        .map(|part| range(part).ok_or_else(|| format!("`{part}` is no CPU: expected such as 0-1,4")))
        .collect()
}

fn range(part: &str) -> Option<RangeInclusive<usize>> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let range = first.parse().ok()?..=last.parse().ok()?;
    (!range.is_empty()).then_some(range)
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("numasim-ways: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), PageError> {
    let guest = Guest::open(args.file.as_deref().map_or_else(Mapping::device, Mapping::file)?)?;
    guest.check()?;
    ask(&guest, args)?;
    guest.wait(guest.commit(), PATIENCE)
}

/// Writes the requested changes. An impossible one is an error, and nothing is committed then.
fn ask(guest: &Guest<impl Words>, args: &Args) -> Result<(), PageError> {
    if args.reset {
        return guest.reset();
    }
    let class = args.class.unwrap_or_default();
    args.mask.map_or(Ok(()), |mask| guest.set_mask(args.llc, class, mask))?;
    let mut all = args.cpus.iter().flat_map(|cpus| cpus.iter().cloned().flatten());
    all.try_for_each(|cpu| guest.set_class(cpu, class))
}

#[cfg(test)]
mod tests {
    use super::*;
    use numasim_page::{Header, Host, LlcFigures, Memory, Place};
    use std::sync::Arc;

    fn header() -> Header {
        Header {
            classes: 4,
            llcs: vec![LlcFigures { ways: 8, bytes: 1 << 20 }; 2],
            nodes: vec![1_000_000_000; 2],
            cpus: (0..4).map(|cpu| Place { node: cpu / 2, llc: cpu / 2 }).collect(),
            ..Header::default()
        }
    }

    fn asked(words: &[&str]) -> Result<(Vec<usize>, u64), String> {
        let memory = Arc::new(Memory::default());
        let _host = Host::initialise(Arc::clone(&memory), header()).unwrap();
        let guest = Guest::open(memory).unwrap();
        for line in words {
            let args = Args::try_parse_from(std::iter::once("numasim-ways").chain(line.split_whitespace()));
            ask(&guest, &args.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
        }
        Ok(((0..4).map(|cpu| guest.class(cpu)).collect(), guest.mask(0, 1)))
    }

    #[test]
    fn masks_and_classes_are_set_and_reset() {
        let set = "--llc 0 --class 1 --mask 0xf --cpus 0,2-3";
        assert_eq!(asked(&[set]), Ok((vec![1, 0, 1, 1], 0xf)));
        assert_eq!(asked(&[set, "--reset"]), Ok((vec![0; 4], 0xff)));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for wrong in [
            "--class 1 --mask 0x100",
            "--class 4 --mask 1",
            "--class 1 --mask 0",
            "--llc 2 --class 1 --mask 1",
            "--class 1 --cpus 3-4",
            "--class 1 --cpus 9-18446744073709551615",
            "--class 1 --cpus 3-1",
            "--mask 1",
            "--reset --class 1",
        ] {
            assert!(asked(&[wrong]).is_err(), "{wrong}");
        }
    }
}
