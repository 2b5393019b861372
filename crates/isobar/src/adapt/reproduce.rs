//! The reproductions of papers in the lab: which there are, and how they run.

use crate::args::Paper;
use isobar_lab::reproduce::{Reproduction, dc, dino, nmass};

pub use isobar_lab::reproduce::{Figure, Options, claims_table};

/// A reproduction by name: its name, and how it runs. The last argument is told experiments done and experiments in all.
pub type Named = (&'static str, fn(&Options, &(dyn Fn(usize, usize) + Sync)) -> anyhow::Result<Reproduction>);

const NMASS: Named = ("nmass", |options, progress| Ok(nmass(options, progress)?));
const DINO: Named = ("dino", |options, _| Ok(dino(options)?));
const DC: Named = ("dc", |options, progress| Ok(dc(options, progress)?));

/// Those that were asked for, in the order of the design's table.
pub const fn wanted(paper: Paper) -> &'static [Named] {
    match paper {
        Paper::Nmass => &[NMASS],
        Paper::Dino => &[DINO],
        Paper::Dc => &[DC],
        Paper::All => &[NMASS, DINO, DC],
    }
}
