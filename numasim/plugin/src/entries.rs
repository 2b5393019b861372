//! What generated code calls. Callbacks that may leave have to know from where they were called:
//! the return address becomes their last argument (QEMU passes two of a block or an instruction and
//! four of an access, the address in rdx). A load or store of a line used lately calls nothing.

use crate::callbacks::{atomic, counter, execution, load, step, store};
use crate::qemu::MemInfo;
use crate::recent::{self, Recent};
use std::ffi::{c_uint, c_void};

std::arch::global_asm!(
    "numasim_on_execution: mov rdx, [rsp]",
    "jmp {execution}",
    "numasim_on_counter: mov rdx, [rsp]",
    "jmp {counter}",
    "numasim_on_atomic: mov r8, [rsp]",
    "jmp {atomic}",
    "numasim_on_step: mov r8, [rsp]",
    "jmp {step}",
    "numasim_on_load:",
    "mov r9, rdx",
    "shr r9, 6",
    "lea r10, [rip + {recent}]",
    "mov rax, [r10 + {mask}]",
    "and rax, r9",
    "cmp [r10 + 8*rax], r9",
    "jne 2f",
    "inc qword ptr [r10 + {found}]",
    "ret",
    "2: mov r8, [rsp]",
    "jmp {load}",
    "numasim_on_store:",
    "mov r9, rdx",
    "shr r9, 6",
    "lea r10, [rip + {recent}]",
    "mov rax, [r10 + {mask}]",
    "and rax, r9",
    "cmp [r10 + 8*rax + {stores}], r9",
    "jne 2f",
    "inc qword ptr [r10 + {found}]",
    "ret",
    "2: jmp {store}",
    execution = sym execution,
    counter = sym counter,
    atomic = sym atomic,
    step = sym step,
    load = sym load,
    store = sym store,
    recent = sym recent::RECENT,
    stores = const Recent::STORES,
    found = const Recent::FOUND,
    mask = const Recent::MASK,
);

unsafe extern "C" {
    pub fn numasim_on_execution(index: c_uint, data: *mut c_void);
    pub fn numasim_on_counter(index: c_uint, data: *mut c_void);
    pub fn numasim_on_atomic(index: c_uint, info: MemInfo, address: u64, data: *mut c_void);
    pub fn numasim_on_step(index: c_uint, info: MemInfo, address: u64, data: *mut c_void);
    pub fn numasim_on_load(index: c_uint, info: MemInfo, address: u64, data: *mut c_void);
    pub fn numasim_on_store(index: c_uint, info: MemInfo, address: u64, data: *mut c_void);
}
