//! What generated code calls. Callbacks that may leave have to know from where they were called:
//! the return address becomes their last argument (QEMU passes two of a block or an instruction and
//! four of an access, the address in rdx). A load or store of a line used lately calls nothing, nor
//! does the begin of a block where nothing has to be decided.

use crate::callbacks::{atomic, count, counter, execution, load, step, store};
use crate::qemu::MemInfo;
use crate::recent::{self, Recent};
use crate::steady::{self, Steady};
use std::ffi::{c_uint, c_void};

std::arch::global_asm!(
    // The datum is a block, which begins with the number of its instructions.
    "numasim_on_execution:",
    "lea r10, [rip + {steady}]",
    "mov rax, [r10 + {place}]",
    "mov rax, [rax]",
    "cmp [r10], rax",
    "jne 2f",
    "mov rcx, [rsi]",
    "mov r8, [r10 + {instruction}]",
    "imul r8, rcx",
    "mov r9, [r10 + {time}]",
    "add r8, [r9]",
    "cmp r8, [r10 + {end}]",
    "jae 2f",
    "cmp [r10 + {stack}], rsp",
    "jne 2f",
    "mov [r9], r8",
    "mov r9, [r10 + {instructions}]",
    "add [r9], rcx",
    "mov [r10 + {block}], rsi",
    "ret",
    "2: mov [r10 + {stack}], rsp",
    "mov rdx, [rsp]",
    "jmp {execution}",
    // The datum is the number of instructions.
    "numasim_on_count:",
    "lea r10, [rip + {steady}]",
    "mov rax, [r10 + {place}]",
    "mov rax, [rax]",
    "cmp [r10], rax",
    "jne 2f",
    "mov r8, [r10 + {instruction}]",
    "imul r8, rsi",
    "mov r9, [r10 + {time}]",
    "add r8, [r9]",
    "cmp r8, [r10 + {end}]",
    "jae 2f",
    "cmp [r10 + {stack}], rsp",
    "jne 2f",
    "mov [r9], r8",
    "mov r9, [r10 + {instructions}]",
    "add [r9], rsi",
    "ret",
    "2: mov [r10 + {stack}], rsp",
    "mov rdx, [rsp]",
    "jmp {count}",
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
    count = sym count,
    counter = sym counter,
    atomic = sym atomic,
    step = sym step,
    load = sym load,
    store = sym store,
    recent = sym recent::RECENT,
    stores = const Recent::STORES,
    found = const Recent::FOUND,
    mask = const Recent::MASK,
    steady = sym steady::STEADY,
    place = const Steady::PLACE,
    stack = const Steady::STACK,
    instruction = const Steady::INSTRUCTION,
    time = const Steady::TIME,
    end = const Steady::END,
    instructions = const Steady::INSTRUCTIONS,
    block = const Steady::BLOCK,
);

unsafe extern "C" {
    pub fn numasim_on_execution(index: c_uint, data: *mut c_void);
    pub fn numasim_on_count(index: c_uint, data: *mut c_void);
    pub fn numasim_on_counter(index: c_uint, data: *mut c_void);
    pub fn numasim_on_atomic(index: c_uint, info: MemInfo, address: u64, data: *mut c_void);
    pub fn numasim_on_step(index: c_uint, info: MemInfo, address: u64, data: *mut c_void);
    pub fn numasim_on_load(index: c_uint, info: MemInfo, address: u64, data: *mut c_void);
    pub fn numasim_on_store(index: c_uint, info: MemInfo, address: u64, data: *mut c_void);
}
