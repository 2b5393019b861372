//! The entry points that generated code calls. Callbacks that may leave have to know from where
//! they were called: the return address becomes their last argument (QEMU passes two arguments for
//! a block or an instruction and four for an access, with the address in rdx). A load or store of a
//! recently used line calls nothing, and neither does the beginning of a block if nothing has to be
//! decided. Blocks of the kernel have entry points of their own, so that the world is called at the
//! first block after the CPU has changed between the kernel and a program.

use crate::callbacks::{atomic, count, counter, execution, load, step, store};
use crate::datum;
use crate::qemu::MemInfo;
use crate::recent::{self, Recent};
use crate::steady::{self, Steady};
use std::ffi::{c_uint, c_void};

/// The beginning of a block: charges the block if nothing has to be decided, otherwise calls.
/// `$handle` is the field with QEMU's handle of the CPU for which this is so; `$count` puts the
/// number of the block's instructions into rcx; `$kept` records the block.
macro_rules! begin {
    ($name:literal, $handle:literal, $count:literal, $kept:literal, $call:literal) => {
        concat!(
            $name,
            ":\n",
            "lea r10, [rip + {steady}]\n",
            "mov rax, [r10 + {place}]\n",
            "mov rax, [rax]\n",
            "cmp [r10 + ",
            $handle,
            "], rax\n",
            "jne 2f\n",
            $count,
            "\nmov r8, [r10 + {instruction}]\n",
            "imul r8, rcx\n",
            "mov r9, [r10 + {time}]\n",
            "add r8, [r9]\n",
            "cmp r8, [r10 + {end}]\n",
            "jae 2f\n",
            "cmp [r10 + {stack}], rsp\n",
            "jne 2f\n",
            "mov [r9], r8\n",
            "mov r9, [r10 + {instructions}]\n",
            "add [r9], rcx\n",
            $kept,
            "\nret\n",
            "2: mov [r10 + {stack}], rsp\n",
            "mov rdx, [rsp]\n",
            "jmp ",
            $call,
        )
    };
}

std::arch::global_asm!(
    // The datum is a block, with the number of its instructions above its address.
    begin!(
        "numasim_on_execution",
        "{user}",
        "mov rcx, rsi\nshr rcx, {count_from}",
        "mov [r10 + {block}], rsi",
        "{execution}"
    ),
    begin!(
        "numasim_on_kernel_execution",
        "{kernel}",
        "mov rcx, rsi\nshr rcx, {count_from}",
        "mov [r10 + {block}], rsi",
        "{kernel_execution}"
    ),
    // The datum is the number of instructions.
    begin!("numasim_on_count", "{user}", "mov rcx, rsi", "", "{count}"),
    begin!("numasim_on_kernel_count", "{kernel}", "mov rcx, rsi", "", "{kernel_count}"),
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
    execution = sym execution::<false>,
    kernel_execution = sym execution::<true>,
    count = sym count::<false>,
    kernel_count = sym count::<true>,
    user = const Steady::USER,
    kernel = const Steady::KERNEL,
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
    count_from = const datum::ADDRESS,
);

unsafe extern "C" {
    pub fn numasim_on_execution(index: c_uint, data: *mut c_void);
    pub fn numasim_on_kernel_execution(index: c_uint, data: *mut c_void);
    pub fn numasim_on_count(index: c_uint, data: *mut c_void);
    pub fn numasim_on_kernel_count(index: c_uint, data: *mut c_void);
    pub fn numasim_on_counter(index: c_uint, data: *mut c_void);
    pub fn numasim_on_atomic(index: c_uint, info: MemInfo, address: u64, data: *mut c_void);
    pub fn numasim_on_step(index: c_uint, info: MemInfo, address: u64, data: *mut c_void);
    pub fn numasim_on_load(index: c_uint, info: MemInfo, address: u64, data: *mut c_void);
    pub fn numasim_on_store(index: c_uint, info: MemInfo, address: u64, data: *mut c_void);
}
