//! The [`isobar_model::Machine`] seam over sensors and actuators of the running kernel.
