//! Pools in a sandbox that refuses `membarrier` and kills a process that changes an affinity.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::thread;
use std::time::Duration;

use crate::common;
use purloin::{ReturnBarrier, Scheduler};

use purloin_schedulers::{Channel, ChaseLev, DirectStack, OneField};

const NAME: &str = "sandbox::pools_work_without_membarrier_and_leave_affinities_alone";

/// Makes the system refuse `membarrier` to this process from now on, and kill the process if it
/// calls `sched_setaffinity`.
fn enter_sandbox() {
    const LOAD_NUMBER: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, k, jt| libc::sock_filter { code, jt, jf: 0, k };
    let mut filter = [
        step(LOAD_NUMBER, 0, 0),
        step(JUMP_IF_EQUAL, libc::SYS_sched_setaffinity as u32, 2),
        step(JUMP_IF_EQUAL, libc::SYS_membarrier as u32, 2),
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0),
        step(RETURN, libc::SECCOMP_RET_KILL_PROCESS, 0),
        step(RETURN, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: `program` and the filter it points to are valid during the calls.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, mode, &program), 0);
    }
}

fn check<S: Scheduler>(scheduler: S) {
    let pool = common::pool_with(scheduler, 2);
    for _ in 0..20 {
        // Gives the workers time to fall asleep; the run wakes them.
        thread::sleep(Duration::from_millis(3));
        assert_eq!(pool.run(|w| common::fib(w, 15)), 610);
    }
}

#[test]
fn pools_work_without_membarrier_and_leave_affinities_alone() {
    if common::is_child() {
        enter_sandbox();
        // SAFETY: `membarrier` takes only integers.
        assert_eq!(unsafe { libc::syscall(libc::SYS_membarrier, 0, 0, 0) }, -1);
        check(ReturnBarrier::default());
        check(DirectStack::<OneField>::new());
        check(ChaseLev::default());
        check(Channel::default());
        return;
    }
    let child = common::run_in_child(NAME, &[]);
    assert!(child.status.success(), "{child:?}");
}
