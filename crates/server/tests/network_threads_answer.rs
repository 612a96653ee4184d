//! A ping tells whether the network threads still handle messages; the watchdog relies on it.

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use crate::support::house::House;

#[test]
fn a_thread_that_hangs_does_not_answer() {
    let house = House::new(Vec::new());
    let whole = Duration::from_secs(60);
    let ping = || house.server.ping();
    assert_eq!(
        ping().recv_timeout(whole),
        Err(RecvTimeoutError::Disconnected)
    );
    let hanging = house.gate.lock();
    let answers = ping();
    let short = Duration::from_millis(200);
    assert_eq!(answers.recv_timeout(short), Err(RecvTimeoutError::Timeout));
    drop(hanging);
    assert_eq!(
        answers.recv_timeout(whole),
        Err(RecvTimeoutError::Disconnected)
    );
}
