//! The topology of a Linux machine, from sysfs.
