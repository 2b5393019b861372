//! The callbacks that QEMU calls while code runs: once for each block, instruction or access that
//! requested one.

use crate::datum::{Begin, Site};
use crate::flush::Operand;
use crate::leave;
use crate::qemu::{self, MemInfo};
use crate::recent;
use crate::world::{self, World, clock};
use numasim_model::flow::Prefetched;
use std::ffi::{c_uint, c_void};

/// Leaves the CPU if the world says so; see leave.rs.
#[inline]
fn leave_if(leaves: Option<bool>, from: usize) {
    if leaves == Some(true) {
        let cpu = world::with(|world| world.running.handle()).unwrap_or(0);
        // SAFETY: called at the end of a callback, which has nothing to drop, with its return
        // address.
        if !unsafe { leave::now(cpu, from) } {
            world::with(World::stays);
        }
    }
}

/// A block, of the kernel or of a program, begins before memory is modelled; `instructions` is the
/// number of its instructions.
pub unsafe extern "C" fn count<const KERNEL: bool>(_index: c_uint, instructions: *mut c_void, from: usize) {
    clock::in_generated_code();
    leave_if(world::with(|world| world.block(instructions.addr() as u64, KERNEL)), from);
}

/// A block, of the kernel or of a program, begins.
pub unsafe extern "C" fn execution<const KERNEL: bool>(_index: c_uint, block: *mut c_void, from: usize) {
    clock::in_generated_code();
    // SAFETY: what was registered; QEMU forgot all code that was translated before memory was
    // modelled.
    let begin = unsafe { Begin::from_word(block.addr()) };
    leave_if(world::with(|world| world.begins(begin, KERNEL)), from);
}

/// # Safety
/// The datum is that of an access to memory.
#[inline]
unsafe fn site(datum: *mut c_void) -> Site {
    // SAFETY: as the caller says.
    unsafe { Site::from_word(datum.addr()) }
}

pub unsafe extern "C" fn load(_index: c_uint, info: MemInfo, address: u64, datum: *mut c_void, from: usize) {
    // SAFETY: what was registered.
    let site = unsafe { site(datum) };
    leave_if(world::with(|world| world.load(site, address, |world| physical(world, info, address))), from);
}

pub unsafe extern "C" fn atomic(_index: c_uint, info: MemInfo, address: u64, datum: *mut c_void, from: usize) {
    // SAFETY: what was registered.
    let site = unsafe { site(datum) };
    leave_if(world::with(|world| world.atomic(site, address, |world| physical(world, info, address))), from);
}

pub unsafe extern "C" fn store(_index: c_uint, info: MemInfo, address: u64, datum: *mut c_void) {
    // SAFETY: what was registered.
    let site = unsafe { site(datum) };
    world::with(|world| world.store(site, address, |world| physical(world, info, address)));
}

pub unsafe extern "C" fn on_fence(_index: c_uint, rest: *mut c_void) {
    world::with(|world| world.fence(rest.addr() as u64));
}

pub unsafe extern "C" fn on_prefetch(_index: c_uint, operand: *mut c_void) {
    // SAFETY: part of the block that was kept for this code, never freed.
    let operand: Prefetched = unsafe { *operand.cast() };
    world::with(|world| {
        let address = Operand::absolute(operand.into()).address(&world.pages);
        address.map(|address| world.prefetch(address))
    });
}

pub unsafe extern "C" fn on_repeat(_index: c_uint, _data: *mut c_void) {
    world::with(World::repeat);
}

/// A load of a repeated string instruction, or a store of one that only stores; `takes` is the
/// duration of the step in picoseconds.
pub unsafe extern "C" fn step(_index: c_uint, info: MemInfo, address: u64, takes: *mut c_void, from: usize) {
    // SAFETY: takes a number.
    let store = unsafe { qemu::qemu_plugin_mem_is_store(info) };
    let step =
        |world: &mut World| world.step(address, store, takes.addr() as u64, |world| physical(world, info, address));
    leave_if(world::with(step), from);
}

pub unsafe extern "C" fn on_traced(_index: c_uint, info: MemInfo, address: u64, _data: *mut c_void) {
    // SAFETY: called within the callback of this access.
    let store = unsafe { qemu::qemu_plugin_mem_is_store(info) };
    world::with(|world| {
        let physical = physical(world, info, address);
        physical.map(|physical| world.traced(address, physical, store))
    });
}

/// The physical address of an access; `None` for a device's registers.
#[inline]
fn physical(world: &mut World, info: MemInfo, address: u64) -> Option<u64> {
    let known = world.translated(address);
    if known.is_some() {
        return known;
    }
    let physical = asked(info, address)?;
    world.translates(address, physical);
    Some(physical)
}

fn asked(info: MemInfo, address: u64) -> Option<u64> {
    // SAFETY: called within the callback of this access.
    let hardware = unsafe { qemu::qemu_plugin_get_hwaddr(info, address) };
    if hardware.is_null() {
        return None;
    }
    // SAFETY: not null; valid in this call.
    if unsafe { qemu::qemu_plugin_hwaddr_is_io(hardware) } {
        return None;
    }
    // SAFETY: as above.
    Some(unsafe { qemu::qemu_plugin_hwaddr_phys_addr(hardware) })
}

pub unsafe extern "C" fn on_halt(_index: c_uint, _data: *mut c_void) {
    world::with(World::halt);
}

pub unsafe extern "C" fn on_pause(_index: c_uint, _data: *mut c_void) {
    world::with(World::pause);
}

pub unsafe extern "C" fn counter(_index: c_uint, rest: *mut c_void, from: usize) {
    leave_if(world::with(|world| world.counter(rest.addr() as u64)), from);
}

pub unsafe extern "C" fn on_translation(_index: c_uint, _data: *mut c_void) {
    recent::forget_all();
    world::with(World::retranslates);
}

/// The CPU changes its address space; `register` is the number of the register that goes to CR3.
pub unsafe extern "C" fn on_space(_index: c_uint, register: *mut c_void) {
    recent::forget_all();
    world::with(|world| {
        world.retranslates();
        world.another_space(u8::try_from(register.addr()).unwrap_or(0));
    });
}

/// The kernel switches to another thread.
pub unsafe extern "C" fn on_switch(_index: c_uint, _data: *mut c_void) {
    world::with(World::goes_on_with);
}

pub unsafe extern "C" fn on_call(_index: c_uint, _data: *mut c_void) {
    world::with(World::calls_kernel);
}

pub unsafe extern "C" fn on_flush(_index: c_uint, operand: *mut c_void) {
    // SAFETY: the operand that was kept for this instruction, never freed.
    let operand = unsafe { &*operand.cast::<Operand>() };
    world::with(|world| {
        let address = operand.address(&world.pages);
        address.map(|address| world.flush(address))
    });
}
