-- The tables of a recording. docs/recordings.md explains each column; what is not measured is NULL.

-- Who recorded what, and how: `policy`, `interval_seconds`, `dry_run`, `machine`, ...
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- Files that the settings came from, so that a replay has the same.
CREATE TABLE input (path TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;

-- One row a decision; 0 is the reading before the first.
CREATE TABLE epoch (
    number INTEGER PRIMARY KEY,
    seconds REAL NOT NULL,          -- since the machine was opened
    interval_seconds REAL NOT NULL, -- since the epoch before
    wall_time REAL,                 -- seconds since 1970; NULL on a simulated machine
    processes INTEGER NOT NULL,
    threads INTEGER NOT NULL,
    managed_threads INTEGER NOT NULL,
    own_cpu_seconds REAL,           -- what isobar itself took
    plan TEXT,                      -- JSON, as `isobar decide` prints it
    outcome TEXT                    -- JSON, one entry an action; NULL in a dry run
);

-- Everything that was read, for `isobar replay` and `isobar export`; not for SQL.
CREATE TABLE frame (epoch INTEGER PRIMARY KEY, is_key INTEGER NOT NULL, data BLOB NOT NULL);

CREATE TABLE process (
    id INTEGER PRIMARY KEY,
    pid INTEGER NOT NULL,
    start_ticks INTEGER NOT NULL,
    name TEXT NOT NULL,
    cgroup TEXT
);

CREATE TABLE thread (
    id INTEGER PRIMARY KEY,
    process INTEGER NOT NULL REFERENCES process (id),
    tid INTEGER NOT NULL,
    start_ticks INTEGER NOT NULL
);

-- The busiest processes of an epoch; counts are of its interval.
CREATE TABLE process_epoch (
    epoch INTEGER NOT NULL,
    process INTEGER NOT NULL REFERENCES process (id),
    threads INTEGER NOT NULL,
    cpu_seconds REAL,
    instructions INTEGER,
    cycles INTEGER,
    llc_misses INTEGER,
    bytes_per_second REAL,
    PRIMARY KEY (epoch, process)
) WITHOUT ROWID;

-- Resident pages of those processes by node, all nodes of a process where one changed.
CREATE TABLE pages (
    epoch INTEGER NOT NULL,
    process INTEGER NOT NULL REFERENCES process (id),
    node INTEGER NOT NULL,
    pages INTEGER NOT NULL,
    PRIMARY KEY (epoch, process, node)
) WITHOUT ROWID;

-- The busiest threads of an epoch.
CREATE TABLE thread_epoch (
    epoch INTEGER NOT NULL,
    thread INTEGER NOT NULL REFERENCES thread (id),
    cpu INTEGER,
    cpu_seconds REAL,
    instructions INTEGER,
    cycles INTEGER,
    llc_misses INTEGER,
    bytes_per_second REAL,
    PRIMARY KEY (epoch, thread)
) WITHOUT ROWID;

CREATE TABLE node_epoch (
    epoch INTEGER NOT NULL,
    node INTEGER NOT NULL,
    free_bytes INTEGER,
    busy_cpus REAL, -- CPU time of threads that were last seen there, over the interval
    PRIMARY KEY (epoch, node)
) WITHOUT ROWID;

-- Probed memory latency, where it changed.
CREATE TABLE latency (
    epoch INTEGER NOT NULL,
    cpu_node INTEGER NOT NULL,
    memory_node INTEGER NOT NULL,
    nanoseconds REAL NOT NULL,
    PRIMARY KEY (epoch, cpu_node, memory_node)
) WITHOUT ROWID;

CREATE TABLE action (
    epoch INTEGER NOT NULL,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL,   -- move_thread, migrate_pages, set_ways, ...
    pid INTEGER,
    tid INTEGER,
    action TEXT NOT NULL, -- JSON, with everything that the kind has
    reason TEXT NOT NULL,
    result TEXT,          -- done, pages, queued, vanished, refused, left_alone; NULL in a dry run
    outcome TEXT,         -- JSON
    change INTEGER,       -- the change that it belongs to
    id INTEGER,           -- its number, for `isobar undo`; NULL in a dry run
    PRIMARY KEY (epoch, position)
) WITHOUT ROWID;

-- Actions that were taken back by hand, in the epoch before which that happened.
CREATE TABLE undo (
    epoch INTEGER NOT NULL,
    id INTEGER NOT NULL,    -- that of the action
    action TEXT NOT NULL,   -- JSON
    outcome TEXT NOT NULL,  -- JSON
    PRIMARY KEY (epoch, id)
) WITHOUT ROWID;

CREATE TABLE note (
    epoch INTEGER NOT NULL,
    position INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (epoch, position)
) WITHOUT ROWID;

-- What was expected of a change when it was made; gains are parts of a program's speed.
CREATE TABLE prediction (
    change INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    gain REAL NOT NULL,
    programs TEXT NOT NULL -- JSON: pid and gain of each
);

-- What was measured when its trial ended.
CREATE TABLE effect (
    change INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    predicted REAL NOT NULL,
    measured REAL NOT NULL,
    error REAL NOT NULL,         -- standard error of `measured`
    is_disturbed INTEGER NOT NULL,
    is_kept INTEGER NOT NULL,
    programs TEXT NOT NULL
);

-- Every change with its prediction, its effect and its first reason, side by side.
CREATE VIEW change AS
SELECT prediction.change, prediction.epoch, prediction.gain AS predicted, effect.predicted AS predicted_of_compared,
       effect.measured, effect.error, effect.is_disturbed, effect.is_kept, effect.epoch AS judged_in_epoch,
       (SELECT action.reason FROM action WHERE action.change = prediction.change AND action.epoch = prediction.epoch
        ORDER BY action.position LIMIT 1) AS reason
FROM prediction LEFT JOIN effect USING (change);
