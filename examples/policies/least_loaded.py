#!/usr/bin/env python3
"""Moves one thread a decision: from the cache with the most misses per second to a free CPU at the
cache with the fewest. For `isobar ... --policy exec:examples/policies/least_loaded.py`."""
import json
import sys

GAP = 2.0  # the busier cache must have this many times the misses of the other

for line in sys.stdin:
    seen = json.loads(line)
    llc_of = {cpu["id"]: cpu["llc"] for cpu in seen["machine"]["cpus"]}
    free, load, threads = set(llc_of), dict.fromkeys(llc_of.values(), 0.0), []
    for process in seen["processes"]:
        for thread in process["threads"]:
            free.discard(thread["cpu"])
            if thread["cpu"] in llc_of and thread["llc_misses"] is not None:
                threads.append((thread["llc_misses"] / seen["interval"], process["pid"], thread))
                load[llc_of[thread["cpu"]]] += threads[-1][0]
    busiest, idlest = max(load, key=load.get), min(load, key=load.get)
    actions = []
    for misses, pid, thread in sorted(threads, key=lambda one: one[0]):
        allowed = free if thread["allowed_cpus"] is None else free & set(thread["allowed_cpus"])
        target = min((cpu for cpu in allowed if llc_of[cpu] == idlest), default=None)
        movable = target is not None and not thread.get("pinned") and llc_of[thread["cpu"]] == busiest
        if movable and load[busiest] > GAP * (load[idlest] + misses):
            reason = f"llc {busiest} has {load[busiest]:.3g} misses/s, llc {idlest} {load[idlest]:.3g}"
            actions = [{"kind": "move_thread", "pid": pid, "tid": thread["tid"], "cpu": target, "reason": reason}]
            break
    print(json.dumps({"actions": actions}), flush=True)
