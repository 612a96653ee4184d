//! Where systemd asks for it, the daemon tells its watchdog that the network threads answer.

use crate::program;
use program::Program;
use program::daemon::Daemon;

#[test]
fn twice_in_an_interval() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let mut command = program.command(&["serve", "--dir", "news", "--listen", "127.0.0.1:0"]);
    command.env("WATCHDOG_USEC", "400000");
    let daemon = Daemon::launch_by(&program, command);
    daemon.until_notified("READY=1");
    for _ in 0..3 {
        daemon.until_notified("WATCHDOG=1");
    }
    daemon.stop();
}
