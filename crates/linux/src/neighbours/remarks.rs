//! What a neighbour means for isobar, a line each: what it does, what isobar does about it, and
//! what would help. NUMA balancing itself is reported for each policy, because its effect depends
//! on what the policy moves.

use super::{Daemon, Neighbours};

/// The lines, in the order of `docs/coexistence.md`.
#[must_use]
pub fn remarks(found: &Neighbours) -> Vec<String> {
    let lines = [tiering(found), tuned(found), numad(found), irqbalance(found), sched_ext(found), cache_aware(found)];
    lines.into_iter().chain([resctrl(found), isolated(found), cpusets(found)]).flatten().collect()
}

fn tiering(found: &Neighbours) -> Option<String> {
    let on = found.numa_balancing.is_some_and(|mode| mode & 2 == 2);
    on.then(|| "memory tiering (kernel.numa_balancing=2) is on: it moves pages between tiers by itself".to_owned())
}

fn tuned(found: &Neighbours) -> Option<String> {
    let tuned = found.tuned.as_ref().filter(|_| found.daemons.contains(&Daemon::Tuned))?;
    let value = tuned.numa_balancing.as_deref()?;
    Some(format!(
        "tuned's profile {} sets kernel.numa_balancing={}: if the profile changes, the kernel's setting may change \
         while isobar runs",
        tuned.profile.escape_debug(),
        value.escape_debug()
    ))
}

fn numad(found: &Neighbours) -> Option<String> {
    let line = "numad is running: it sets the affinity of all threads of a process; stop it while isobar manages";
    found.daemons.contains(&Daemon::Numad).then(|| line.to_owned())
}

fn irqbalance(found: &Neighbours) -> Option<String> {
    let line = "irqbalance is running: it moves interrupts but no threads; no action is needed";
    found.daemons.contains(&Daemon::Irqbalance).then(|| line.to_owned())
}

fn sched_ext(found: &Neighbours) -> Option<String> {
    let name = found.sched_ext.as_ref()?.escape_debug();
    Some(format!("a sched_ext scheduler ({name}) is active: it may move threads against isobar's decisions"))
}

fn cache_aware(found: &Neighbours) -> Option<String> {
    let line = "cache-aware scheduling is on: it gathers the threads of a process on one LLC; threads that isobar \
                binds stay where they are, but it may move others against isobar's decisions";
    found.cache_aware.then(|| line.to_owned())
}

fn resctrl(found: &Neighbours) -> Option<String> {
    let first = found.resctrl_groups.first()?;
    let more = match found.resctrl_groups.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    Some(format!(
        "resctrl has groups of another program ({}{more}): they keep their ways and their threads (manage.move_grouped)",
        first.escape_debug()
    ))
}

fn isolated(found: &Neighbours) -> Option<String> {
    let cpus = &found.isolated;
    let line = || {
        format!(
            "CPUs {cpus} are isolated from the kernel's balancer: threads whose masks leave them out (isolcpus=) count \
             as pinned by their owner and are left alone, unless manage.move_pinned is set"
        )
    };
    (!cpus.is_empty()).then(line)
}

fn cpusets(found: &Neighbours) -> Option<String> {
    let line = "cpusets confine some processes to some CPUs: isobar moves their threads within them only";
    found.cpusets.then(|| line.to_owned())
}
