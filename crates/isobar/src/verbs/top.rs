//! `isobar top`: shows the machine on a screen (live, or simulated at any speed), or prints one
//! frame as text.

use super::Verb;
use super::epochs;
use super::options::{positive_seconds, speed};
use super::watch::{Needed, ONLY_DECIDE, Target, WatchArgs, policy_or};
use crate::daemon;
use crate::failure::bad_input;
use crate::machines::linux;
use crate::signals::StopFlag;
use crate::terminal;
use crate::text::json_line;
use crate::top::{self, DaemonLink, Feed, News, Order, Pace};
use anyhow::Context;
use isobar_tui::{App, Kind, Setup};
use isobar_view::{View, group};
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

/// The policy if none is named: it changes nothing.
const WATCHING: &str = "linux";

/// Watch the machine on a screen: which programs slow each other down, where memory is, what would
/// help
#[derive(Debug, clap::Parser)]
#[command(
    name = "top",
    mut_arg("machine", |machine| {
        machine.value_name("sim:FILE|FILE").help("A simulated machine, or FILE of a recording, instead of this machine")
    }),
    mut_arg("policy", |policy| policy.help(policy_or("linux, which changes nothing"))),
    mut_arg("only", |only| only.help(ONLY_DECIDE)),
    mut_arg("json", |json| json.help("Print one JSON document; needs --once")),
    after_help = "Example:
  isobar top
  isobar top --machine sim:examples/workloads/dino-spec.toml --speed 5
  isobar top --machine sim:examples/workloads/dino-spec.toml --once
  isobar top --machine day.isobar --speed 20
  isobar top --by group
  isobar top --policy isobar --act --machine sim:examples/workloads/ways.toml

By default it only watches, and says what the policy `isobar` would do. With --policy NAME it shows what that policy
would do. With --act as well, it carries that out, as `isobar manage` would, and restores affinities and cache ways at the
end. Press ? to see the keys."
)]
pub struct Top {
    /// what to watch and how
    #[command(flatten)]
    watch: WatchArgs,
    /// Carry out the policy's decisions, and restore affinities and cache ways at the end
    #[arg(long, requires = "policy")]
    act: bool,
    /// Seconds of a simulated machine that pass in one second, 0.01 to 10000
    #[arg(long, value_name = "TIMES", default_value_t = 1.0, value_parser = speed, requires = "machine")]
    speed: f64,
    /// Print one frame as plain text and end; with --json, print its contents as a document
    #[arg(long)]
    once: bool,
    /// Seconds to watch before the frame of --once, in the machine's time
    #[arg(long = "for", value_name = "S", default_value_t = 10.0, value_parser = positive_seconds, requires = "once")]
    duration: f64,
    /// Size of the frame of --once, such as 160x50 [default: that of the terminal, or 80x24]
    #[arg(long, value_name = "COLUMNSxROWS", value_parser = size, requires = "once")]
    size: Option<(u16, u16)>,
    /// What a row shows at first: a program, a thread, all processes of one name, or a group (a
    /// service, container, pod or virtual machine; other processes by name)
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = By::Program)]
    by: By,
    /// Do not use colours; a variable NO_COLOR that is not empty has the same effect
    #[arg(long)]
    no_color: bool,
}

/// What a row stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum By {
    #[default]
    Program,
    Thread,
    Name,
    Group,
}

impl By {
    const fn kind(self) -> Kind {
        match self {
            Self::Program => Kind::Programs,
            Self::Thread => Kind::Threads,
            Self::Name => Kind::Names,
            Self::Group => Kind::Groups,
        }
    }

    /// Changes the view to what the document shows. A program includes its threads in any case.
    fn document(self, mut view: View) -> View {
        match self {
            Self::Program | Self::Thread => {}
            Self::Name => view.programs = group::by_name(&view),
            Self::Group => view.programs = group::by_group(&view),
        }
        view
    }
}

fn size(text: &str) -> Result<(u16, u16), String> {
    let parts = text.split_once('x').and_then(|(columns, rows)| Some((columns.parse().ok()?, rows.parse().ok()?)));
    let fits = |(columns, rows): &(u16, u16)| (40..=1000).contains(columns) && (10..=1000).contains(rows);
    parts.filter(fits).ok_or_else(|| "expected COLUMNSxROWS from 40x10 to 1000x1000, such as 160x50".to_owned())
}

impl Verb for Top {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        if self.watch.json && !self.once {
            return Err(bad_input("--json: only with --once: a screen is no document"));
        }
        if let Some(option) = self.is_recorded().then(|| self.idle()).flatten() {
            return Err(bad_input(format!(
                "{option}: does nothing with a recording, which is only shown: leave it out"
            )));
        }
        if self.once {
            return self.once(out);
        }
        if !io::stdout().is_terminal() {
            return Err(bad_input("standard output is no terminal: --once prints one frame as text"));
        }
        self.screen()
    }
}

impl Top {
    fn needed(&self) -> anyhow::Result<Needed> {
        let mut needed = Needed::from_args_or(&self.watch, Some(WATCHING), StopFlag::default())?;
        needed.limits.dry_run = !self.act;
        needed.limits.despite_missing = !self.act;
        Ok(needed)
    }

    /// Whether a recording is shown.
    fn is_recorded(&self) -> bool {
        self.watch.machine.as_deref().is_some_and(|machine| !machine.starts_with("sim:"))
    }

    /// The first option given that has a meaning only for a machine that runs.
    fn idle(&self) -> Option<&'static str> {
        let given = [
            ("--policy", self.watch.policy.is_some()),
            ("--act", self.act),
            ("--only", !self.watch.only.is_empty()),
            ("--interval", self.watch.interval.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }

    fn setup(&self, policy: &str, colour: bool) -> Setup {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let machine = self.watch.machine.as_deref();
        let simulated = machine.and_then(|machine| machine.strip_prefix("sim:"));
        let source = match (machine, simulated) {
            (None, _) => "this machine".to_owned(),
            (_, Some(file)) => format!("sim:{}", name(file)),
            (Some(file), None) => name(file),
        };
        let mode = match (self.act, policy) {
            _ if self.is_recorded() => "recorded".to_owned(),
            (true, policy) => format!("{policy} acts"),
            (false, WATCHING) => "watching".to_owned(),
            (false, policy) => format!("{policy}, dry run"),
        };
        Setup { source, mode, colour, kind: self.by.kind() }
    }

    /// Prints one frame as text.
    fn once(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let needed = self.needed()?;
        let mut app = App::new(self.setup(needed.policy.name(), false));
        let changed = linux::Changed::default();
        let stop = heed_signals(&needed, &changed)?;
        let stopped = || stop.is_raised();
        let view = epochs::over(needed, &stopped, &changed, &mut |source| epochs::watched(source, self.duration))?;
        let view = view.context("interrupted before the first epoch ended")?;
        if self.watch.json {
            return Ok(writeln!(out, "{}", json_line(&serde_json::to_value(self.by.document(view))?))?);
        }
        app.take(Arc::new(view));
        let (columns, rows) = self.size.unwrap_or_else(terminal_size);
        Ok(write!(out, "{}", isobar_tui::plain_frame(&mut app, columns, rows))?)
    }

    /// Runs the screen, with the machine in a thread of its own. That thread also reads the
    /// configuration, once, because a policy stays in the thread that made it.
    fn screen(&self) -> anyhow::Result<()> {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let (orders, taken) = mpsc::channel();
        let (report, news) = mpsc::channel();
        let (name, named) = mpsc::channel();
        let watches_this = self.watch.machine.is_none() && !self.act;
        let socket = watches_this.then(|| daemon::find(None));
        let elsewhere = DaemonLink { socket, news: report.clone() };
        thread::scope(|scope| {
            thread::Builder::new()
                .name("epochs".into())
                .spawn_scoped(scope, move || self.feed(&name, &taken, &report))?;
            let policy = named.recv().context("the configuration could not be read")??;
            let mut app = App::new(self.setup(policy, !self.no_color && !no_color));
            // However the screen ends, the other thread must end, too.
            let _end = End(&orders);
            top::show(&mut app, &news, &orders, &elsewhere)
        })
    }

    /// Delivers the name of the policy or what is wrong with the input, then the epochs.
    fn feed(&self, name: &Sender<anyhow::Result<&'static str>>, orders: &Receiver<Order>, news: &Sender<News>) {
        // If the screen is gone, it needs no news.
        let needed = match self.needed() {
            Ok(needed) => needed,
            Err(why) => return drop(name.send(Err(why))),
        };
        let _ = name.send(Ok(needed.policy.name()));
        let _ = news.send(match self.fed(needed, orders, news) {
            Ok(true) => News::Stopped,
            Ok(false) => News::Ended(Ok(())),
            Err(why) => News::Ended(Err(why)),
        });
    }

    /// Returns whether a signal ended it.
    fn fed(&self, needed: Needed, orders: &Receiver<Order>, news: &Sender<News>) -> anyhow::Result<bool> {
        let changed = linux::Changed::default();
        let stop = heed_signals(&needed, &changed)?;
        let stopped = || stop.is_raised();
        let pace = if needed.target == Target::Linux { Pace::Live } else { Pace::Times(self.speed) };
        epochs::over(needed, &stopped, &changed, &mut |source| {
            news.send(News::Ready).context("the screen is gone")?;
            Feed { orders, news, pace, stop: &stopped }.run(source)
        })?;
        Ok(stop.is_raised())
    }
}

/// Makes every signal that asks to stop end the program in order. If that takes too long, at least
/// the terminal is given back.
fn heed_signals(needed: &Needed, changed: &linux::Changed) -> anyhow::Result<StopFlag> {
    let left = changed.clone();
    needed.stops_on(&linux::stop_signals(), move || {
        top::leave_the_screen();
        left.in_words()
    })
}

/// Ends the machine's thread when the screen closes, and wakes it for that.
struct End<'a>(&'a Sender<Order>);

impl Drop for End<'_> {
    fn drop(&mut self) {
        top::leave_the_screen();
        let _ = self.0.send(Order::Stop);
        // A machine that sleeps until its next epoch is woken by a signal, which is caught.
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM);
    }
}

fn terminal_size() -> (u16, u16) {
    let (columns, rows) = terminal::size().unwrap_or((80, 24));
    (u16::try_from(columns).unwrap_or(80).max(40), u16::try_from(rows).unwrap_or(24).max(10))
}
