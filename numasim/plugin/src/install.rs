//! Makes the world and registers callbacks with QEMU: for each block of code, those that its
//! instructions need. Until the guest requests modelling, accesses to memory are not reported, and
//! only instructions take time.

use crate::arguments::Arguments;
use crate::caches;
use crate::callbacks::{
    on_call, on_fence, on_flush, on_halt, on_pause, on_prefetch, on_repeat, on_space, on_switch, on_traced,
    on_translation,
};
use crate::datum::{Begin, Site};
use crate::entries::{
    numasim_on_atomic, numasim_on_count, numasim_on_counter, numasim_on_execution, numasim_on_kernel_count,
    numasim_on_kernel_execution, numasim_on_load, numasim_on_step, numasim_on_store,
};
use crate::error::{self, note};
use crate::flush::Operand;
use crate::leave;
use crate::qemu::{self, Block, Id, Info, Instruction};
use crate::tsc;
use crate::world::{self, World};
use numasim_model::Spec;
use numasim_model::flow::{self, Reference, Role};
use numasim_model::x86::{self, Repeated, Special};
use std::ffi::{CStr, c_uint, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

static ID: AtomicU64 = AtomicU64::new(0);
static STARTED: AtomicBool = AtomicBool::new(false);

/// Addresses from here on belong to the kernel.
const KERNEL: u64 = 1 << 63;

/// Makes the world and registers its callbacks with QEMU.
///
/// # Errors
/// What is wrong with QEMU, its command line or the machine, as one line.
pub fn install(id: Id, info: &Info, arguments: &Arguments) -> Result<(), String> {
    fits(info)?;
    let file = arguments.machine.display().to_string();
    let text = std::fs::read_to_string(&arguments.machine).map_err(|why| format!("{file}: cannot be read: {why}"))?;
    let spec = Spec::parse(&text, &file).map_err(|problem| problem.to_string())?;
    if usize::try_from(info.cpus) != Ok(spec.cpus()) {
        return Err(format!(
            "{file} has {} CPUs and QEMU {}: start it with -smp {}",
            spec.cpus(),
            info.cpus,
            spec.cpus()
        ));
    }
    // SAFETY: takes no arguments.
    let control = unsafe { qemu::qemu_plugin_request_time_control() };
    if control.is_null() {
        return Err("another plugin controls time".to_owned());
    }
    caches::show(&spec, arguments.l1);
    tsc::rate(&spec);
    world::put(World::new(spec, arguments, control)?);
    ID.store(id, Relaxed);
    // SAFETY: the callback has the type that QEMU wants.
    unsafe { qemu::qemu_plugin_register_vcpu_init_cb(id, on_cpu) };
    register(id);
    Ok(())
}

fn fits(info: &Info) -> Result<(), String> {
    // SAFETY: QEMU passes a C string.
    let target = unsafe { CStr::from_ptr(info.target_name) }.to_string_lossy();
    if target != "x86_64" || !info.system_emulation {
        return Err(format!("this is QEMU for {target}; numasim works with qemu-system-x86_64"));
    }
    if info.version_now < qemu::VERSION {
        return Err(format!(
            "this QEMU has plugin interface {}; {} is needed, which QEMU 10.0 has",
            info.version_now,
            qemu::VERSION
        ));
    }
    preloaded()
        .then_some(())
        .ok_or_else(|| "not preloaded: start QEMU with LD_PRELOAD set to this library, too".to_owned())
}

/// Whether QEMU's clock functions are this library's. The address of this library's own function
/// does not show that, because the loader also binds its name to whichever library comes first.
fn preloaded() -> bool {
    // SAFETY: a C string, and the default search order.
    let clock = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"clock_gettime".as_ptr()) };
    library(clock).is_some_and(|place| library(&raw const ID as *const c_void) == Some(place))
}

/// The base address of the library that an address lies in.
fn library(address: *const c_void) -> Option<usize> {
    // SAFETY: all zero is a valid description, of nothing.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address is allowed, and the description is large enough.
    let known = unsafe { libc::dladdr(address, &raw mut found) } != 0;
    known.then(|| found.dli_fbase.addr())
}

fn register(id: Id) {
    // SAFETY: the callback has the type that QEMU wants.
    unsafe { qemu::qemu_plugin_register_vcpu_tb_trans_cb(id, on_block) };
}

unsafe extern "C" fn on_cpu(_id: Id, index: c_uint) {
    world::with(|world| {
        world.running.add(index as usize);
        world.pages.registers();
    });
    leave::find();
}

/// QEMU has forgotten all translated code and all callbacks.
unsafe extern "C" fn on_reset(id: Id) {
    world::with(World::begin);
    register(id);
    note("modelling");
}

unsafe extern "C" fn on_block(_id: Id, block: *mut Block) {
    let modelling = world::with(|world| world.modelling).unwrap_or(false);
    // SAFETY: QEMU's block, valid in this call.
    let count = unsafe { qemu::qemu_plugin_tb_n_insns(block) };
    // SAFETY: as above; the index is below the count.
    let all: Vec<_> = (0..count).map(|at| unsafe { qemu::qemu_plugin_tb_get_insn(block, at) }).collect();
    let bytes: Vec<_> = all.iter().map(|instruction| bytes_of(*instruction)).collect();
    let flow = modelling.then(|| flow(&bytes)).flatten();
    let traced = world::with(|world| world.trace.is_some()).unwrap_or(false);
    let switches_at = world::with(|world| world.switches_at()).flatten();
    // Before memory is modelled, the number of instructions is sufficient.
    let kernel = bytes.first().is_some_and(|code| code.at >= KERNEL);
    let (executes, counts): (qemu::OnExecution, qemu::OnExecution) = if kernel {
        (numasim_on_kernel_execution, numasim_on_kernel_count)
    } else {
        (numasim_on_execution, numasim_on_count)
    };
    let (begin, datum): (_, *mut c_void) = match flow {
        Some(flow) => (executes, std::ptr::with_exposed_provenance_mut(Begin::of(flow).word())),
        None => (counts, std::ptr::without_provenance_mut(count)),
    };
    // SAFETY: as above; the datum is what the callback expects.
    unsafe { qemu::qemu_plugin_register_vcpu_tb_exec_cb(block, begin, qemu::NO_REGISTERS, datum) };
    for (at, (instruction, code)) in all.iter().zip(&bytes).enumerate() {
        if let Some(flow) = flow {
            accesses(*instruction, &code.bytes[..code.length], &flow.roles()[at], count - at);
            if code.at < KERNEL && traced {
                // This follows the callback that models the access and may leave the CPU; an access
                // whose CPU is left is then not counted.
                on_memory(*instruction, on_traced, qemu::BOTH, 0);
            }
        }
        special(*instruction, code, count - at, modelling);
        if Some(code.at) == switches_at {
            on(*instruction, on_switch, qemu::READS_REGISTERS, 0);
        }
    }
}

/// The bytes of an instruction.
struct Code {
    bytes: [u8; 16],
    length: usize,
    at: u64,
}

fn bytes_of(instruction: *mut Instruction) -> Code {
    let mut bytes = [0_u8; 16];
    // SAFETY: QEMU writes no more than the buffer holds.
    let length = unsafe { qemu::qemu_plugin_insn_data(instruction, bytes.as_mut_ptr().cast(), bytes.len()) };
    // SAFETY: QEMU's instruction, valid in this call.
    let at = unsafe { qemu::qemu_plugin_insn_vaddr(instruction) };
    Code { length: length.min(bytes.len()), bytes, at }
}

fn flow(code: &[Code]) -> Option<&'static flow::Block> {
    let block = flow::Block::of(code.iter().map(|one| (&one.bytes[..one.length], one.at)));
    world::with(|world| world.keep(block))
}

/// `rest` is the number of instructions of the block from this one on.
fn special(instruction: *mut Instruction, code: &Code, rest: usize, modelling: bool) {
    match x86::special(&code.bytes[..code.length]) {
        Some(Special::Magic(operation)) => on(instruction, on_magic, qemu::READS_REGISTERS, usize::from(operation)),
        Some(Special::Halt) => on(instruction, on_halt, qemu::NO_REGISTERS, 0),
        Some(Special::Pause) => on(instruction, on_pause, qemu::NO_REGISTERS, 0),
        Some(Special::Counter) => on(instruction, numasim_on_counter, qemu::READS_REGISTERS, rest),
        Some(Special::Translation) if modelling => on(instruction, on_translation, qemu::NO_REGISTERS, 0),
        Some(Special::Space(register)) if modelling => {
            on(instruction, on_space, qemu::READS_REGISTERS, usize::from(register));
        }
        Some(Special::Call) if modelling => on(instruction, on_call, qemu::READS_REGISTERS, 0),
        Some(Special::Flush(address)) if modelling => {
            on(instruction, on_flush, qemu::READS_REGISTERS, Operand::keep(address, code.at));
        }
        _ => {}
    }
}

/// `rest` is the number of instructions of the block from this one on.
fn accesses(instruction: *mut Instruction, bytes: &[u8], role: &'static Role, rest: usize) {
    if role.fence {
        on(instruction, on_fence, qemu::NO_REGISTERS, rest);
    }
    if let Some(prefetch) = &role.prefetch {
        let datum = std::ptr::from_ref(prefetch).expose_provenance();
        on(instruction, on_prefetch, qemu::READS_REGISTERS, datum);
    }
    // Instructions that the decoder does not know may still access memory.
    let datum = Site::of(role.reference.as_ref().unwrap_or(&Reference::ALONE)).word();
    let (load, store): (qemu::OnAccess, qemu::OnAccess) = match x86::repeated(bytes) {
        Some((kind, bytes)) => {
            on(instruction, on_repeat, qemu::NO_REGISTERS, 0);
            let step = world::with(|world| kind.step(world.cycle, bytes)).unwrap_or(0);
            let which = if kind == Repeated::Store { qemu::STORES } else { qemu::LOADS };
            on_memory(instruction, numasim_on_step, which, usize::try_from(step).unwrap_or(0));
            if kind == Repeated::Move {
                on_memory(instruction, numasim_on_store, qemu::STORES, datum);
            }
            return;
        }
        None if x86::is_atomic(bytes) => (numasim_on_atomic, numasim_on_store),
        None => (numasim_on_load, numasim_on_store),
    };
    on_memory(instruction, load, qemu::LOADS, datum);
    on_memory(instruction, store, qemu::STORES, datum);
}

fn on_memory(instruction: *mut Instruction, call: qemu::OnAccess, which: std::ffi::c_int, datum: usize) {
    let datum = std::ptr::with_exposed_provenance_mut(datum);
    // SAFETY: QEMU's instruction, valid in this call; the datum is what the callback expects.
    unsafe { qemu::qemu_plugin_register_vcpu_mem_cb(instruction, call, qemu::NO_REGISTERS, which, datum) };
}

fn on(instruction: *mut Instruction, call: qemu::OnExecution, flags: std::ffi::c_int, datum: usize) {
    let datum = std::ptr::with_exposed_provenance_mut(datum);
    // SAFETY: QEMU's instruction, valid in this call; the datum is what the callback expects.
    unsafe { qemu::qemu_plugin_register_vcpu_insn_exec_cb(instruction, call, flags, datum) };
}

unsafe extern "C" fn on_magic(_index: c_uint, operation: *mut c_void) {
    match operation.addr() {
        1 if !STARTED.swap(true, Relaxed) => {
            // SAFETY: our own id; QEMU calls back when no code of this plugin runs.
            unsafe { qemu::qemu_plugin_reset(ID.load(Relaxed), on_reset) };
        }
        1 => {}
        2 => drop(world::with(World::publish)),
        3 => drop(world::with(World::zero)),
        4 => drop(world::with(World::empty)),
        5 => drop(world::with(World::trace_begins)),
        6 => drop(world::with(World::trace_ends)),
        7 => drop(world::with(World::keeps_house)),
        other => error::notify(&format!("the guest asked for operation {other}, which this version does not know")),
    }
}
