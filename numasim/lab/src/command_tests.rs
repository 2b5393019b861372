use super::*;
use crate::experiment::Scale;
use crate::machine::scaled;

fn files() -> Files {
    Files {
        firmware: vec!["fw".into()],
        kernel: "vmlinuz".into(),
        initramfs: "out/initramfs".into(),
        plugin: Some("/p/libnumasim.so".into()),
        seed: 1,
        out: "out".into(),
    }
}

/// The whole line of a machine of two nodes with a CPU each.
#[test]
fn a_small_machine_has_this_command_line() {
    let text = include_str!("../../machines/small-2x2.toml");
    let spec = Spec::parse(text, "small-2x2.toml").unwrap();
    let got = arguments(&spec, &files()).unwrap().join(" ");
    let expected = "-L fw -accel tcg,thread=single -machine q35,hmat=on -cpu max,-cx16 -m 1024M -smp 4,sockets=2,cores=2,threads=1 \
        -object memory-backend-ram,id=m0,size=512M -numa node,nodeid=0,memdev=m0,initiator=0 \
        -object memory-backend-ram,id=m1,size=512M -numa node,nodeid=1,memdev=m1,initiator=1 \
        -numa cpu,node-id=0,socket-id=0,core-id=0,thread-id=0 -numa cpu,node-id=0,socket-id=0,core-id=1,thread-id=0 \
        -numa cpu,node-id=1,socket-id=1,core-id=0,thread-id=0 -numa cpu,node-id=1,socket-id=1,core-id=1,thread-id=0 \
        -numa dist,src=0,dst=0,val=10 \
        -numa hmat-lb,initiator=0,target=0,hierarchy=memory,data-type=access-latency,latency=1200 \
        -numa hmat-lb,initiator=0,target=0,hierarchy=memory,data-type=access-bandwidth,bandwidth=1000M \
        -numa dist,src=0,dst=1,val=17 \
        -numa hmat-lb,initiator=0,target=1,hierarchy=memory,data-type=access-latency,latency=2000 \
        -numa hmat-lb,initiator=0,target=1,hierarchy=memory,data-type=access-bandwidth,bandwidth=500M \
        -numa dist,src=1,dst=0,val=17 \
        -numa hmat-lb,initiator=1,target=0,hierarchy=memory,data-type=access-latency,latency=2000 \
        -numa hmat-lb,initiator=1,target=0,hierarchy=memory,data-type=access-bandwidth,bandwidth=500M \
        -numa dist,src=1,dst=1,val=10 \
        -numa hmat-lb,initiator=1,target=1,hierarchy=memory,data-type=access-latency,latency=1200 \
        -numa hmat-lb,initiator=1,target=1,hierarchy=memory,data-type=access-bandwidth,bandwidth=1000M \
        -nodefaults -no-user-config -no-reboot -display none -seed 1 -rtc base=2026-01-01,clock=vm -serial file:out/console.log \
        -device isa-debug-exit,iobase=0xf4,iosize=1 -device virtio-serial-pci,ioeventfd=off \
        -chardev file,id=results,path=out/results.jsonl -device virtserialport,chardev=results,name=results \
        -chardev file,id=output,path=out/output -device virtserialport,chardev=output,name=output \
        -object memory-backend-file,id=page,share=on,mem-path=out/page,size=65536 -device ivshmem-plain,memdev=page \
        -kernel vmlinuz -initrd out/initramfs \
        -append console=ttyS0 panic=-1 quiet tsc=reliable clocksource=tsc nokaslr cryptomgr.notests \
        -plugin /p/libnumasim.so,machine=out/machine.toml,page=out/page,out=out/counters.json";
    assert_eq!(got, expected);
}

#[test]
fn without_the_plugin_there_is_no_page() {
    let spec = scaled("nehalem-2x4", Scale::default()).unwrap();
    let got = arguments(&spec, &Files { plugin: None, ..files() }).unwrap().join(" ");
    assert!(!got.contains("ivshmem") && !got.contains("-plugin"), "{got}");
}

#[test]
fn commas_in_paths_are_doubled() {
    assert_eq!(option(Path::new("a,b")), "a,,b");
}

#[test]
fn every_machine_that_ships_can_be_laid_out() {
    for name in crate::machine::shipped() {
        let spec = scaled(name, Scale::default()).unwrap();
        let line = arguments(&spec, &files()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let cpus = line.iter().filter(|word| word.starts_with("cpu,node-id")).count();
        assert_eq!(cpus, spec.cpus(), "{name}");
    }
}

#[test]
fn uneven_caches_are_refused_with_the_remedy() {
    let text = include_str!("../../machines/small-2x2.toml");
    let text = text.replacen("cpus = \"0-1\"\nsize", "cpus = \"0,2\"\nsize", 1).replacen(
        "cpus = \"2-3\"\nsize",
        "cpus = \"1,3\"\nsize",
        1,
    );
    let spec = Spec::parse(&text, "m.toml").unwrap();
    let error = arguments(&spec, &files()).unwrap_err().to_string();
    assert!(error.contains("LLC 0 has 2, so LLC 1 must have 2-3"), "{error}");
}
