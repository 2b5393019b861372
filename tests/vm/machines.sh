# The guests, as QEMU arguments. Sourced by run.sh; each function fills the array `machine`.
#
# With `-icount shift=N,sleep=off` an instruction takes 2^N ns of the guest's time, on any CPU, and
# an idle guest jumps to its next timer: deadlines in the guest do not depend on what else the host
# computes, and waiting costs little. With a larger N the programs of the guest are slower and its
# waits shorter, for the host.

# Adds a node: ID MEMORY_MIB INITIATOR (the node whose CPUs are nearest; HMAT wants one for every
# node).
node() {
    machine+=(-object "memory-backend-ram,id=m$1,size=$2M" -numa "node,nodeid=$1,memdev=m$1,initiator=$3")
}

# Adds what the firmware's tables say of a pair: FROM TO DISTANCE.
distance() { machine+=(-numa "dist,src=$1,dst=$2,val=$3"); }

# FROM TO NANOSECONDS GB_PER_S
hmat() {
    local pair="hmat-lb,initiator=$1,target=$2,hierarchy=memory"
    machine+=(-numa "$pair,data-type=access-latency,latency=$3" -numa "$pair,data-type=access-bandwidth,bandwidth=$4G")
}

machine_regular() {
    ring
    machine+=(-icount shift=2,sleep=off)
}

# For the soak test alone, by the host's clock: its processes come and go as fast as they can, and
# isobar is to find the time to bind them.
machine_ends() { ring; }

# For the conformance suite alone.
machine_conformance() {
    ring
    machine+=(-icount shift=3,sleep=off)
}

# Four sockets of two cores in a ring, 512 MiB a node: distances 10, 21, 31.
ring() {
    local i j hops
    machine=(-m 2048M -smp 8,sockets=4,cores=2,threads=1)
    for i in 0 1 2 3; do node $i 512 $i; done
    for i in 0 1 2 3; do
        for j in 0 1; do machine+=(-numa "cpu,node-id=$i,socket-id=$i,core-id=$j,thread-id=0"); done
        for j in 0 1 2 3; do
            hops=$(((i - j + 4) % 4)); [ $hops = 3 ] && hops=1
            distance $i $j $((10 + 10 * hops + (hops > 0)))
            hmat $i $j $((90 + 60 * hops)) $((100 / (1 + hops)))
        done
    done
}

# Two sockets of two dies of one core of two threads; unequal nodes, node 4 has memory and no CPU,
# distances differ by direction.
machine_awkward() {
    local i j s d t same
    machine=(-m 1920M -smp 8,sockets=2,dies=2,cores=1,threads=2 -icount shift=2,sleep=off)
    local memory=(512 384 448 256 320)
    for i in 0 1 2 3; do node $i "${memory[i]}" $i; done
    node 4 "${memory[4]}" 1
    for s in 0 1; do for d in 0 1; do for t in 0 1; do
        machine+=(-numa "cpu,node-id=$((2 * s + d)),socket-id=$s,die-id=$d,core-id=0,thread-id=$t")
    done; done; done
    for i in 0 1 2 3 4; do for j in 0 1 2 3 4; do
        same=$((i / 2 == j / 2))
        if [ $i = $j ]; then distance $i $j 10
        elif [ $i = 4 ] || [ $j = 4 ]; then distance $i $j $((40 + i))
        elif [ $same = 1 ]; then distance $i $j $((12 + j))
        else distance $i $j $((20 + 3 * i + j)); fi
        [ $i = 4 ] || hmat $i $j $((90 + 30 * (i != j) + 60 * (same == 0))) $((60 - 10 * (i != j) - 20 * (same == 0)))
    done; done
}
