//! Solves the equations. [`solve`] answers one question. A [`Solver`] answers many, each from where
//! the one before ended, and answers a changed phase without setting the equations up anew.

use crate::budget::{Budget, Meter, NoAnswer};
use crate::network::{Network, Point, Trial};
use crate::newton::Workspace;
use crate::question::{Demand, Question};
use crate::stream::{Flow, Misses};
use crate::{bracket, build, network, newton, transient};

/// What each thread and the page copy achieve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Instructions per second, by thread.
    pub rates: Vec<f64>,
    /// LLC misses per instruction, by thread.
    pub misses: Vec<f64>,
    /// Bytes held in the LLC, by thread.
    pub held: Vec<f64>,
    /// Pages per second of the copy; 0 if there is none.
    pub copied: f64,
    /// Number of evaluations of the equations that it took.
    pub evaluations: u64,
}

/// The streams that compete, and the fixed point that was found last.
#[derive(Clone, Debug, Default)]
pub struct Solver {
    pub(crate) network: Network,
    /// The machine's position of each resource of the network.
    pub(crate) used: Vec<usize>,
    /// The share of a CPU of each stream.
    shares: Vec<f64>,
    /// The idle fraction of every resource of the machine.
    slack: Vec<f64>,
    pub(crate) at: Trial,
    pub(crate) work: Workspace,
    answer: Answer,
}

/// Answers what every thread achieves.
///
/// # Errors
/// [`NoAnswer`] if the question is not valid, or if the budget does not suffice.
pub fn solve(question: &Question, budget: Budget) -> Result<Answer, NoAnswer> {
    let mut solver = Solver::default();
    solver.ask(question, budget)?;
    Ok(solver.answer)
}

impl Solver {
    /// A solver whose answers are approximate: every resource carries, and every part of a cache
    /// holds, what it should to a fraction `part` of its capacity. This suffices for comparing
    /// arrangements by per cents.
    #[must_use]
    pub fn near(part: f64) -> Self {
        let mut solver = Self::default();
        solver.work.close = part;
        solver
    }

    /// Answers a question, starting from where the last one ended.
    ///
    /// # Errors
    /// As [`solve`]; the next question starts from the last answer that was found.
    pub fn ask(&mut self, question: &Question, budget: Budget) -> Result<&Answer, NoAnswer> {
        self.pose(question)?;
        self.settle(budget)
    }

    /// Sets a question up, to be answered by [`Self::settle`].
    ///
    /// # Errors
    /// [`NoAnswer`] if it is not valid.
    pub fn pose(&mut self, question: &Question) -> Result<(), NoAnswer> {
        question.check()?;
        (self.network, self.used) = build::network(question, std::mem::take(&mut self.network.streams));
        self.network.last_step = self.work.last_step();
        self.slack.resize(question.machine.resources().len(), 0.5);
        self.shares.clear();
        self.shares.extend(question.threads.iter().map(|one| one.share).chain(question.copy.map(|_| 1.0)));
        self.start(question.threads);
        Ok(())
    }

    /// Sets the factor on the misses of a thread (its phase), by position. The question is
    /// otherwise unchanged.
    pub fn set_factor(&mut self, thread: usize, to: f64) {
        if let Some(Misses::Curve { factor, .. }) = self.network.streams.get_mut(thread).map(|s| &mut s.misses) {
            *factor = to;
        }
    }

    /// Answers the question that was posed last.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn settle(&mut self, budget: Budget) -> Result<&Answer, NoAnswer> {
        let mut meter = Meter::new(budget);
        find(&self.network, &mut self.at, &mut self.work, &mut meter)?;
        self.used.iter().zip(&self.at.point.slack).for_each(|(k, slack)| self.slack[*k] = *slack);
        self.write_answer();
        self.answer.evaluations = meter.spent();
        Ok(&self.answer)
    }

    /// The last answer.
    #[must_use]
    pub fn answer(&self) -> &Answer {
        &self.answer
    }

    /// The first point to try: waits as they were, and residence times that follow from the spaces
    /// held.
    fn start(&mut self, threads: &[Demand]) {
        let slack: Vec<_> = self.used.iter().map(|k| self.slack[*k]).collect();
        let waits: Vec<_> = self.network.resources.iter().zip(&slack).map(|(one, s)| one.wait_at_slack(*s)).collect();
        let inserted =
            |(index, share): &(usize, f64)| share * self.network.streams[*index].inserted(threads[*index].held, &waits);
        let parts = self.network.members.iter().zip(&self.network.spaces);
        let stay =
            parts.map(|(members, size)| size / (size / network::LONGEST + members.iter().map(inserted).sum::<f64>()));
        self.at.point = Point { slack, stay: stay.collect() };
        self.at.flows.clear();
        self.at.flows.resize(self.network.streams.len(), Flow::default());
        self.at.flows.iter_mut().zip(threads).for_each(|(flow, thread)| flow.space = thread.held);
    }

    pub(crate) fn write_answer(&mut self) {
        let threads = self.network.streams.iter().zip(&self.at.flows).zip(&self.shares);
        let Answer { rates, misses, held, copied, .. } = &mut self.answer;
        rates.clear();
        misses.clear();
        held.clear();
        *copied = 0.0;
        for ((stream, flow), share) in threads {
            let (rate, missed) = stream.progress(flow, *share);
            if matches!(stream.misses, Misses::Fixed(_)) {
                *copied = rate;
            } else {
                rates.push(rate);
                misses.push(missed);
                held.push(flow.space);
            }
        }
    }
}

/// Goes from a point to the fixed point.
pub(crate) fn find(network: &Network, at: &mut Trial, work: &mut Workspace, meter: &mut Meter) -> Result<(), NoAnswer> {
    network.evaluate(at, meter)?;
    let arrived = newton::descend(network, at, work, meter)? || transient::follow(network, at, work, meter)?;
    if arrived { Ok(()) } else { bracket::search(network, at, work, meter) }
}
