// The machines that ship, by name: read with `include!` by the simulator and by numasim.
&[
    ("barcelona-2x4", include_str!("barcelona-2x4.toml")),
    ("barcelona-4x4", include_str!("barcelona-4x4.toml")),
    ("haswell-2x18", include_str!("haswell-2x18.toml")),
    ("itanium-2x4", include_str!("itanium-2x4.toml")),
    ("nehalem-2x4", include_str!("nehalem-2x4.toml")),
    ("opteron-8x8", include_str!("opteron-8x8.toml")),
    ("rome-ccx-2x4", include_str!("rome-ccx-2x4.toml")),
    ("rome-ccx-3x4", include_str!("rome-ccx-3x4.toml")),
    ("skylake-2x20", include_str!("skylake-2x20.toml")),
    ("westmere-8x10", include_str!("westmere-8x10.toml")),
    ("xeon-4x8", include_str!("xeon-4x8.toml")),
]
