//! The parts of QEMU's plugin interface, version 4, that are used. They are declared here because
//! no package ships the header. Sources: QEMU's documentation (docs/devel/tcg-plugins.rst) and the
//! names and types that include/qemu/qemu-plugin.h publishes.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// See [`crate::qemu_plugin_version`].
pub const VERSION: c_int = 4;

/// A loaded plugin.
pub type Id = u64;
/// A memory access: size, sign, direction.
pub type MemInfo = u32;

/// The description that QEMU passes at loading.
#[repr(C)]
pub struct Info {
    pub target_name: *const c_char,
    pub version_min: c_int,
    pub version_now: c_int,
    pub system_emulation: bool,
    pub cpus: c_int,
    pub cpus_at_most: c_int,
}

/// A block of guest instructions that is being translated.
#[repr(C)]
pub struct Block(c_void);
/// One of its instructions.
#[repr(C)]
pub struct Instruction(c_void);
/// The physical side of an access.
#[repr(C)]
pub struct Hardware(c_void);

/// A register that can be read.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Register {
    pub handle: *mut c_void,
    pub name: *const c_char,
    pub feature: *const c_char,
}

/// GLib's array, of any elements or of bytes.
#[repr(C)]
pub struct Array {
    pub data: *mut u8,
    pub len: c_uint,
}

/// Whether a callback may read registers.
pub const NO_REGISTERS: c_int = 0;
pub const READS_REGISTERS: c_int = 1;
/// Which accesses are reported.
pub const LOADS: c_int = 1;
pub const STORES: c_int = 2;
pub const BOTH: c_int = LOADS | STORES;

pub type OnCpu = unsafe extern "C" fn(Id, c_uint);
pub type OnBlock = unsafe extern "C" fn(Id, *mut Block);
pub type OnExecution = unsafe extern "C" fn(c_uint, *mut c_void);
pub type OnAccess = unsafe extern "C" fn(c_uint, MemInfo, u64, *mut c_void);

unsafe extern "C" {
    pub fn qemu_plugin_register_vcpu_init_cb(id: Id, call: OnCpu);
    pub fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, call: OnBlock);
    pub fn qemu_plugin_reset(id: Id, call: unsafe extern "C" fn(Id));
    pub fn qemu_plugin_tb_n_insns(block: *const Block) -> usize;
    pub fn qemu_plugin_tb_get_insn(block: *const Block, index: usize) -> *mut Instruction;
    pub fn qemu_plugin_insn_data(instruction: *const Instruction, to: *mut c_void, len: usize) -> usize;
    pub fn qemu_plugin_insn_vaddr(instruction: *const Instruction) -> u64;
    pub fn qemu_plugin_register_vcpu_tb_exec_cb(block: *mut Block, call: OnExecution, flags: c_int, data: *mut c_void);
    pub fn qemu_plugin_register_vcpu_insn_exec_cb(
        instruction: *mut Instruction,
        call: OnExecution,
        flags: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_mem_cb(
        instruction: *mut Instruction,
        call: OnAccess,
        flags: c_int,
        rw: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_mem_is_store(info: MemInfo) -> bool;
    pub fn qemu_plugin_get_hwaddr(info: MemInfo, address: u64) -> *mut Hardware;
    pub fn qemu_plugin_hwaddr_is_io(hardware: *const Hardware) -> bool;
    pub fn qemu_plugin_hwaddr_phys_addr(hardware: *const Hardware) -> u64;
    pub fn qemu_plugin_request_time_control() -> *const c_void;
    pub fn qemu_plugin_update_ns(handle: *const c_void, time: i64);
    pub fn qemu_plugin_get_registers() -> *mut Array;
    pub fn qemu_plugin_read_register(handle: *mut c_void, into: *mut Array) -> c_int;
    pub fn qemu_plugin_read_memory_vaddr(address: u64, into: *mut Array, length: usize) -> bool;

    // From GLib, which QEMU is linked with.
    pub fn g_byte_array_new() -> *mut Array;
    pub fn g_array_free(array: *mut Array, with_data: c_int) -> *mut u8;
}

// Only QEMU has these symbols. They are weak, so they may be missing. Otherwise no other program
// that inherits `LD_PRELOAD` could be started, and a QEMU that is too old would fail on a missing
// symbol before it could report that. No symbol is called before QEMU has loaded the plugin and its
// version has been checked.
std::arch::global_asm!(
    ".weak qemu_plugin_register_vcpu_init_cb",
    ".weak qemu_plugin_register_vcpu_tb_trans_cb",
    ".weak qemu_plugin_reset",
    ".weak qemu_plugin_tb_n_insns",
    ".weak qemu_plugin_tb_get_insn",
    ".weak qemu_plugin_insn_data",
    ".weak qemu_plugin_insn_vaddr",
    ".weak qemu_plugin_register_vcpu_tb_exec_cb",
    ".weak qemu_plugin_register_vcpu_insn_exec_cb",
    ".weak qemu_plugin_register_vcpu_mem_cb",
    ".weak qemu_plugin_mem_is_store",
    ".weak qemu_plugin_get_hwaddr",
    ".weak qemu_plugin_hwaddr_is_io",
    ".weak qemu_plugin_hwaddr_phys_addr",
    ".weak qemu_plugin_request_time_control",
    ".weak qemu_plugin_update_ns",
    ".weak qemu_plugin_get_registers",
    ".weak qemu_plugin_read_register",
    ".weak qemu_plugin_read_memory_vaddr",
    ".weak g_byte_array_new",
    ".weak g_array_free",
);
