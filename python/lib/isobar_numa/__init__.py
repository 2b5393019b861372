"""isobar in Python: policies as classes, and simulations, studies, page metrics and recordings as
pandas or polars frames.

    import isobar_numa

    result = isobar_numa.simulate("workload.toml", policies=["linux", "dino"], repeat=3)
    print(result.policies)
"""

from ._native import PolicyError, __version__
from .actions import Action, MigratePages, Move, Plan, SetAllocation, SetWays, WithdrawPages
from .observation import Cpu, Llc, Machine, Node, Observation, Process, Thread
from .pages import Pages, pages
from .policy import Policy, replay
from .recording import Recording
from .simulation import Simulation, policies, simulate
from .study import Study, study

__all__ = [
    "Action",
    "Cpu",
    "Llc",
    "Machine",
    "MigratePages",
    "Move",
    "Node",
    "Observation",
    "Pages",
    "Plan",
    "Policy",
    "PolicyError",
    "Process",
    "Recording",
    "SetAllocation",
    "SetWays",
    "Simulation",
    "Study",
    "Thread",
    "WithdrawPages",
    "__version__",
    "pages",
    "policies",
    "replay",
    "simulate",
    "study",
]
