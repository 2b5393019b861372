//! Actuators: thread affinity, page migration, and the state file that lets everything be put back.
