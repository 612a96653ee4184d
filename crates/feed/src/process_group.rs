//! The processes that a program started.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process_group};

/// Kills the process group: `sh -c` has children. The group may have ended already.
pub fn kill(child: &mut Child) {
    if !matches!(child.try_wait(), Ok(Some(_)))
        && let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw)
    {
        let _ = kill_process_group(pid, Signal::KILL);
    }
    let _ = child.wait();
}
