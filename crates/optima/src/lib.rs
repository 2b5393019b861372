//! Exact optima of a static model: the best that anyone could do for a workload, and the proof.
