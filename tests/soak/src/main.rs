//! The soak test: ends `isobar manage` in every way there is while the managed processes come and
//! go, and asks Linux after each end what is left. It shares no code with isobar. See `README.md`.

#![forbid(unsafe_code)]

mod args;
mod disk;
mod ends;
mod evidence;
mod family;
mod kinds;
mod manage;
mod outlet;
mod random;
mod recording;
mod score;
mod setup;
mod subject;
mod terminal;
mod trial;
mod verdict;
mod words;

use anyhow::Result;
use args::Args;
use clap::Parser;
use family::Family;
use kinds::{Deck, Kind};
use score::{Score, Verdict};
use setup::Setup;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use trial::{Outcome, Trial};

/// How often an end is retried while another isobar manages the machine.
const ATTEMPTS: u32 = 8;
/// Time between the attempts.
const PATIENCE: Duration = Duration::from_secs(4);

/// The exit status of a run in which isobar had seldom bound threads.
const PROVES_LITTLE: u8 = 3;

fn main() -> ExitCode {
    let args = Args::parse();
    match soak(&args) {
        Ok(Verdict::Passed) => ExitCode::SUCCESS,
        Ok(Verdict::Failed) => ExitCode::FAILURE,
        Ok(Verdict::ProvesLittle) => ExitCode::from(PROVES_LITTLE),
        Err(error) => {
            eprintln!("isobar-soak: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs all ends.
fn soak(args: &Args) -> Result<Verdict> {
    let (begin, mut setup, mut family, mut score) =
        (Instant::now(), Setup::new(args)?, Family::new()?, Score::default());
    setup.folder.disable_cleanup(args.keep);
    let (mut deck, mut order) = (Deck::new(&args.only), random::stream(args.seed, 0));
    println!("seed {}, {} ends of {}", args.seed, args.ends, setup.isobar.display());
    if !setup.forks_last()? {
        println!("SKIPPED: forks that last: this kernel does not permit userfaultfd");
    }
    for number in 1..args.first.saturating_add(args.ends) {
        let kind = deck.deal(&mut order);
        if number >= args.first {
            one(args, &setup, &mut family, &mut score, number, kind);
        }
    }
    if args.keep {
        println!("state files and wishes are in {}", setup.folder.path().display());
    }
    println!("{} s", begin.elapsed().as_secs());
    Ok(score.close())
}

fn one(args: &Args, setup: &Setup, family: &mut Family, score: &mut Score, number: u32, kind: Kind) {
    if kind == Kind::DiskFull && !rustix::process::geteuid().is_root() {
        return score.skip(number, kind, "only root can mount a small disk");
    }
    match tried(args, setup, family, number, kind) {
        Ok(outcome) => score.add(number, kind, &outcome, &again(args, number)),
        Err(error) => score.break_off(number, kind, &format!("{error:#}")),
    }
}

fn tried(args: &Args, setup: &Setup, family: &mut Family, number: u32, kind: Kind) -> Result<Outcome> {
    let mut attempt = 1;
    loop {
        let folder = setup.folder.path().join(format!("end-{number}.{attempt}"));
        std::fs::create_dir(&folder)?;
        let random = random::stream(args.seed, number);
        let outcome = Trial { setup, family, kind, random, folder }.run();
        family.end_all(|_| true);
        match outcome {
            Ok(outcome) if outcome.refused && attempt < ATTEMPTS => std::thread::sleep(PATIENCE),
            other => return other,
        }
        attempt += 1;
    }
}

/// The command that repeats an end.
fn again(args: &Args, number: u32) -> String {
    let only: Vec<String> = args.only.iter().map(|kind| kind.name()).collect();
    let only = if only.is_empty() { String::new() } else { format!(" --only {}", only.join(",")) };
    format!("isobar-soak --isobar {} --seed {} --first {number} --ends 1{only}", args.isobar.display(), args.seed)
}
