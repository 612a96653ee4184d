//! Reloads go on although what the daemon tells of them (`NOTIFY_SOCKET`) is not read.

mod program;

use program::Program;
use program::daemon::Daemon;

/// More than the kernel keeps of datagrams: 10, and two come of each.
const RELOADS: usize = 8;

#[test]
fn reloads_go_on() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let daemon = Daemon::start(&program);
    for _ in 0..RELOADS {
        let told = program.run(&["reload", "--dir", "news"]);
        assert_eq!(told.status, 0, "{told:?}");
    }
    daemon.stop();
}
