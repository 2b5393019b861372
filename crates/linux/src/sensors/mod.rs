//! Sensors: processes and threads, event counters, pages by node, free memory.
