//! Reloads go on although what the daemon tells of them (`NOTIFY_SOCKET`) is not read.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use crate::program;

use program::Program;
use program::daemon::Daemon;

#[test]
fn reloads_go_on() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let daemon = Daemon::start(&program);
    let kept = std::fs::read_to_string("/proc/sys/net/unix/max_dgram_qlen").unwrap();
    let kept: usize = kept.trim().parse().unwrap();
    // More than the kernel keeps of datagrams: two come of each.
    for _ in 0..kept / 2 + 3 {
        let told = program.run(&["reload", "--dir", "news"]);
        assert_eq!(told.status, 0, "{told:?}");
    }
    daemon.stop();
}
