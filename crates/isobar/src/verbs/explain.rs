//! `isobar explain`: one decision in words, and nothing done.

use super::watch::{self, Needed};
use crate::args::ExplainArgs;
use crate::report::{Explain, Json};
use std::io::Write;

/// Watches for as many epochs as asked and explains the last decision.
///
/// # Errors
/// As `manage`: a machine that lacks what the policy needs is told in the same words.
pub fn run(args: &ExplainArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut needed = Needed::from_args(&args.watch)?;
    needed.limits.dry_run = true;
    needed.limits.epochs = Some(args.epochs);
    needed.refuse_in_dry_run = true;
    if args.watch.json {
        watch::drive(needed, &mut Json::only_epoch(out, args.epochs))
    } else {
        watch::drive(needed, &mut Explain::new(out, args.epochs))
    }
}
