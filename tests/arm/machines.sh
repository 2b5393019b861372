# The Arm guests, as QEMU arguments. Sourced by run.sh; each function fills the array `machine`, and
# `append` with words for the kernel.
#
# QEMU counts instructions only with -icount, and then over all CPUs of the guest together: absolute
# counts hold with one CPU, ratios with more. `sleep=off` makes an idle guest jump to its next
# timer, so waiting costs nothing.

# One CPU of a Neoverse N1, without NUMA: a thread's instructions are exact.
machine_one() {
    machine=(-machine virt,gic-version=3 -cpu neoverse-n1 -smp 1 -m 512M -icount shift=1,sleep=off)
    append=
}

# A CPU that counts cycles and no instructions: QEMU has no inst_retired without -icount.
machine_cycles() {
    machine=(-machine virt,gic-version=3 -cpu neoverse-n1 -smp 1 -m 512M)
    append=
}

# Four nodes of two CPUs in a ring, an L3 a node, HMAT: everything that firmware can describe.
machine_four() {
    local i j hops pair
    local caches=smp-cache.0.cache=l1d,smp-cache.0.topology=core,smp-cache.1.cache=l1i,smp-cache.1.topology=core
    caches+=,smp-cache.2.cache=l2,smp-cache.2.topology=core,smp-cache.3.cache=l3,smp-cache.3.topology=socket
    four_nodes
    machine=(-machine "virt,gic-version=3,hmat=on,$caches" "${machine[@]}" -bios "$cache/firmware.fd")
    append=acpi=force
    for i in 0 1 2 3; do for j in 0 1 2 3; do
        hops=$(((i - j + 4) % 4)); [ $hops = 3 ] && hops=1
        pair="hmat-lb,initiator=$i,target=$j,hierarchy=memory"
        machine+=(-numa "$pair,data-type=access-latency,latency=$((90 + 60 * hops))"
            -numa "$pair,data-type=access-bandwidth,bandwidth=$((100 / (1 + hops)))G")
    done; done
}

# The same machine, beside it, on a slower CPU: conformance needs no counters, and an emulated
# second has fewer instructions.
machine_conformance() {
    machine_four
    machine=("${machine[@]/shift=1,sleep=off/shift=2,sleep=off}")
}

# The same four nodes, and firmware that says nothing of caches, as in many Arm VMs: the kernel
# guesses.
machine_bare() {
    four_nodes
    machine=(-machine virt,gic-version=3 "${machine[@]}" -bios "$cache/firmware.fd")
    append=acpi=force
}

four_nodes() {
    local i j hops
    # `max` is the only model that may have an L3. Pointer authentication and vectors of many
    # lengths slow down every call and every switch of threads under emulation, and nothing here
    # asks for them.
    machine=(-cpu max,pauth=off,sve=off,sme=off -smp 8,sockets=4,clusters=1,cores=2,threads=1 -m 2048M
        -icount shift=1,sleep=off)
    for i in 0 1 2 3; do
        machine+=(-object "memory-backend-ram,id=m$i,size=512M"
            -numa "node,nodeid=$i,memdev=m$i,cpus=$((2 * i))-$((2 * i + 1))")
    done
    for i in 0 1 2 3; do for j in 0 1 2 3; do
        hops=$(((i - j + 4) % 4)); [ $hops = 3 ] && hops=1
        machine+=(-numa "dist,src=$i,dst=$j,val=$((10 + 10 * hops + (hops > 0)))")
    done; done
}
