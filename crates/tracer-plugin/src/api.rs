//! The part of QEMU's plugin interface, version 1, that is used here. The declarations are our own,
//! because no package ships the header. They follow QEMU's documentation
//! (docs/devel/tcg-plugins.rst) and the names and types that include/qemu/qemu-plugin.h publishes.
//! Functions are looked up when the plugin is loaded, so its tests link without QEMU.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::transmute_copy;

/// The version of the interface.
pub const VERSION: c_int = 1;

/// A loaded plugin.
pub type Id = u64;
/// A block of guest instructions that is being translated.
#[repr(C)]
pub struct Block(c_void);
/// An instruction of a block.
#[repr(C)]
pub struct Instruction(c_void);

/// What QEMU passes when it loads the plugin, as far as it is read.
#[repr(C)]
pub struct Info {
    /// Name of the emulated architecture.
    pub target_name: *const c_char,
    /// Versions of the interface that QEMU offers.
    pub version_min: c_int,
    pub version_now: c_int,
    /// Whether a whole system is emulated.
    pub system_emulation: bool,
}

/// The callback reads no registers.
const NO_REGISTERS: c_int = 0;
/// Reports loads and stores. QEMU 7.2 reports stores to a plugin that subscribes to loads, and
/// loads to one that subscribes to stores. So the plugin subscribes to both, and reads the kind
/// from each access.
const ALL_ACCESSES: c_int = 3;

pub type OnCpu = unsafe extern "C" fn(Id, c_uint);
pub type OnBlock = unsafe extern "C" fn(Id, *mut Block);
pub type OnAccess = unsafe extern "C" fn(c_uint, u32, u64, *mut c_void);
pub type OnSyscall = unsafe extern "C" fn(Id, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);
pub type OnReturn = unsafe extern "C" fn(Id, c_uint, i64, i64);
pub type OnExit = unsafe extern "C" fn(Id, *mut c_void);

/// The functions that are used.
#[derive(Clone, Copy)]
pub struct Api {
    vcpu_init: unsafe extern "C" fn(Id, OnCpu),
    translation: unsafe extern "C" fn(Id, OnBlock),
    syscall: unsafe extern "C" fn(Id, OnSyscall),
    syscall_return: unsafe extern "C" fn(Id, OnReturn),
    at_exit: unsafe extern "C" fn(Id, OnExit, *mut c_void),
    count: unsafe extern "C" fn(*const Block) -> usize,
    instruction: unsafe extern "C" fn(*const Block, usize) -> *mut Instruction,
    virtual_address: unsafe extern "C" fn(*const Instruction) -> u64,
    host_address: unsafe extern "C" fn(*const Instruction) -> *mut c_void,
    access: unsafe extern "C" fn(*mut Instruction, OnAccess, c_int, c_int, *mut c_void),
    is_store: unsafe extern "C" fn(u32) -> bool,
}

/// A function of the program that loaded the plugin; `None` if it has none of this name.
fn find<F: Copy>(name: &CStr) -> Option<F> {
    // SAFETY: `name` ends with a zero byte, and the handle is the constant for "anywhere".
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    // SAFETY: function pointers are as large as data pointers on Linux, and each caller names the
    // type that the header declares for the name.
    (!address.is_null()).then(|| unsafe { transmute_copy(&address) })
}

impl Api {
    /// Looks the functions up.
    pub fn find() -> Option<Self> {
        Some(Self {
            vcpu_init: find(c"qemu_plugin_register_vcpu_init_cb")?,
            translation: find(c"qemu_plugin_register_vcpu_tb_trans_cb")?,
            syscall: find(c"qemu_plugin_register_vcpu_syscall_cb")?,
            syscall_return: find(c"qemu_plugin_register_vcpu_syscall_ret_cb")?,
            at_exit: find(c"qemu_plugin_register_atexit_cb")?,
            count: find(c"qemu_plugin_tb_n_insns")?,
            instruction: find(c"qemu_plugin_tb_get_insn")?,
            virtual_address: find(c"qemu_plugin_insn_vaddr")?,
            host_address: find(c"qemu_plugin_insn_haddr")?,
            access: find(c"qemu_plugin_register_vcpu_mem_cb")?,
            is_store: find(c"qemu_plugin_mem_is_store")?,
        })
    }

    /// Whether QEMU encodes the kind of an access as [`crate::table::Access`] reads it.
    pub fn tells_loads_from_stores(&self) -> bool {
        // SAFETY: a function of its argument alone.
        let load = unsafe { (self.is_store)(1 << 16) };
        // SAFETY: as above.
        let store = unsafe { (self.is_store)(2 << 16) };
        store && !load
    }

    /// Registers the callbacks for each thread, block and system call, and for the end.
    pub fn register(&self, id: Id, cpu: OnCpu, block: OnBlock, call: OnSyscall, back: OnReturn, exit: OnExit) {
        // SAFETY: called while QEMU loads the plugin `id`, with functions that live as long as it
        // does.
        unsafe { (self.vcpu_init)(id, cpu) };
        // SAFETY: as above.
        unsafe { (self.translation)(id, block) };
        // SAFETY: as above.
        unsafe { (self.syscall)(id, call) };
        // SAFETY: as above.
        unsafe { (self.syscall_return)(id, back) };
        // SAFETY: as above; the data are not read.
        unsafe { (self.at_exit)(id, exit, std::ptr::null_mut()) };
    }

    /// Subscribes to all accesses of a block; returns the address of the first instruction in the
    /// guest and in this process.
    ///
    /// # Safety
    /// `block` is the block that QEMU is translating.
    pub unsafe fn watch(&self, block: *mut Block, call: OnAccess) -> Option<(u64, u64)> {
        // SAFETY: as the caller promises.
        let count = unsafe { (self.count)(block) };
        let mut first = None;
        for at in 0..count {
            // SAFETY: `at` is below the number of instructions.
            let instruction = unsafe { (self.instruction)(block, at) };
            if first.is_none() {
                // SAFETY: the instruction lives while the block is translated.
                let guest = unsafe { (self.virtual_address)(instruction) };
                // SAFETY: as above.
                first = Some((guest, unsafe { (self.host_address)(instruction) } as u64));
            }
            // SAFETY: as above; no data are passed.
            unsafe { (self.access)(instruction, call, NO_REGISTERS, ALL_ACCESSES, std::ptr::null_mut()) };
        }
        first
    }
}
