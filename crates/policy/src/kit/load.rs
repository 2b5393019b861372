//! Counts the threads on each CPU and on each core while a plan is being made.

use super::domains::{Domains, SeatId};

/// Threads by seat and by core.
#[derive(Clone, Debug, Default)]
pub struct Load {
    seats: Vec<u32>,
    cores: Vec<u32>,
}

impl Load {
    /// Starts with these numbers of threads on the seats.
    #[must_use]
    pub fn of(domains: &Domains, seats: Vec<u32>) -> Self {
        let mut cores = vec![0; domains.core_count()];
        domains.seats.iter().zip(&seats).for_each(|(seat, load)| cores[seat.core] += load);
        Self { seats, cores }
    }

    /// Adds one thread to a seat.
    pub fn add(&mut self, domains: &Domains, seat: SeatId) {
        self.seats[seat.0] += 1;
        self.cores[domains.seat(seat).core] += 1;
    }

    /// Removes one thread from a seat.
    pub fn remove(&mut self, domains: &Domains, seat: SeatId) {
        for count in [&mut self.seats[seat.0], &mut self.cores[domains.seat(seat).core]] {
            *count = count.saturating_sub(1);
        }
    }

    /// Threads on a seat.
    #[must_use]
    pub fn on(&self, seat: SeatId) -> u32 {
        self.seats[seat.0]
    }

    /// Threads on a core.
    #[must_use]
    pub fn on_core(&self, core: usize) -> u32 {
        self.cores[core]
    }
}
