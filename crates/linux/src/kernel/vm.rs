//! Recognises virtual machines by the names of their processes and threads.
//!
//! A monitor names its threads itself: QEMU if it runs with `-name ...,debug-threads=on`, as
//! libvirt starts it; cloud-hypervisor and firecracker always. Without these names a guest's CPUs
//! cannot be distinguished from its I/O threads, and the process is shown as an ordinary program.

/// Whether a thread runs a virtual CPU. Names are those of `/proc/PID/stat`: 15 bytes at most.
#[must_use]
pub fn is_vcpu(process: &[u8], thread: &[u8]) -> bool {
    let qemu = process.starts_with(b"qemu-system-") || process == b"qemu-kvm" || process == b"kvm";
    if qemu {
        // `CPU 3/KVM`; plain emulation is `CPU 3/TCG`, or `ALL CPUs/TCG` on one thread for all.
        let numbered =
            |rest: &[u8]| rest.split(|byte| *byte == b'/').next().is_some_and(is_number) && rest.contains(&b'/');
        return thread == b"ALL CPUs/TCG" || thread.strip_prefix(b"CPU ").is_some_and(numbered);
    }
    let prefix: &[u8] = match process {
        b"cloud-hyperviso" | b"cloud-hypervisor" => b"vcpu",
        b"firecracker" => b"fc_vcpu ",
        _ => return false,
    };
    thread.strip_prefix(prefix).is_some_and(is_number)
}

fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::is_vcpu;

    #[test]
    fn virtual_cpus_are_told_from_the_threads_beside_them() {
        for (process, thread) in [
            ("qemu-system-x86", "CPU 0/KVM"),
            ("qemu-system-aar", "CPU 12/TCG"),
            ("qemu-system-x86", "ALL CPUs/TCG"),
            ("qemu-kvm", "CPU 3/KVM"),
            ("cloud-hyperviso", "vcpu10"),
            ("firecracker", "fc_vcpu 0"),
        ] {
            assert!(is_vcpu(process.as_bytes(), thread.as_bytes()), "{process}: {thread}");
        }
        for (process, thread) in [
            ("qemu-system-x86", "qemu-system-x86"),
            ("qemu-system-x86", "IO mon_iothread"),
            ("qemu-system-x86", "call_rcu"),
            ("qemu-system-x86", "worker"),
            ("qemu-system-x86", "CPU x/KVM"),
            ("cloud-hyperviso", "_disk0_q0"),
            ("firecracker", "fc_api"),
            ("mcf", "CPU 0/KVM"),
        ] {
            assert!(!is_vcpu(process.as_bytes(), thread.as_bytes()), "{process}: {thread}");
        }
    }
}
