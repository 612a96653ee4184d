//! A few threads run slow jobs; jobs above the maximum are refused.
// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use std::net::IpAddr;
use std::sync::mpsc;
use std::time::Duration;

use server::worker_pool::{
    IsFull, Job, LOGIN_JOBS_MAX, SLOW_JOBS_PER_ADDRESS_MAX, WorkerPool, spawn_here,
};

/// Of a job that does not have to make room.
fn stays() -> Job {
    Box::new(|| panic!("it had to make room"))
}

fn address(last: u8) -> Option<IpAddr> {
    Some(IpAddr::from([192, 0, 2, last]))
}

/// A pool with one thread, which is busy until something is sent.
fn busy() -> (WorkerPool, mpsc::Sender<()>) {
    let slow = WorkerPool::with(1, Duration::from_secs(30), spawn_here());
    let (go, wait) = mpsc::channel::<()>();
    let (began, begins) = mpsc::channel();
    slow.run(
        None,
        Box::new(move || {
            began.send(()).unwrap();
            let _ = wait.recv();
        }),
        stays(),
    )
    .unwrap();
    begins.recv().unwrap();
    (slow, go)
}

#[test]
fn one_address_keeps_no_other_out() {
    let (slow, go) = busy();
    let (done, dones) = mpsc::channel();
    let job = |name: &'static str| {
        let done = done.clone();
        Box::new(move || done.send(name).unwrap())
    };
    for _ in 0..SLOW_JOBS_PER_ADDRESS_MAX {
        slow.run(address(1), job("greedy"), stays()).unwrap();
    }
    assert_eq!(slow.run(address(1), job("greedy"), stays()), Err(IsFull));
    slow.run(address(2), job("first"), stays()).unwrap();
    slow.run(address(2), job("second"), stays()).unwrap();
    drop(go);
    let order: Vec<&str> = dones.iter().take(5).collect();
    assert_eq!(order, ["greedy", "first", "greedy", "second", "greedy"]);
}

#[test]
fn a_full_pool_refuses() {
    let slow = WorkerPool::with(2, Duration::from_secs(30), spawn_here());
    assert_eq!(slow.threads(), 0, "none while there is nothing to do");
    let (go, wait) = mpsc::channel::<()>();
    let wait = std::sync::Arc::new(std::sync::Mutex::new(wait));
    let (began, begins) = mpsc::channel();
    for _ in 0..2 {
        let (wait, began) = (wait.clone(), began.clone());
        slow.run(
            None,
            Box::new(move || {
                began.send(()).unwrap();
                let _ = wait.lock().unwrap().recv();
            }),
            stays(),
        )
        .unwrap();
    }
    begins.recv().unwrap();
    begins.recv().unwrap();
    assert_eq!(slow.threads(), 2);
    let (done, dones) = mpsc::channel();
    for number in 0..LOGIN_JOBS_MAX {
        let done = done.clone();
        let displaced = done.clone();
        let address = address((number / SLOW_JOBS_PER_ADDRESS_MAX) as u8);
        slow.run(
            address,
            Box::new(move || done.send((number, true)).unwrap()),
            Box::new(move || displaced.send((number, false)).unwrap()),
        )
        .unwrap();
    }
    assert_eq!(slow.waiting(), LOGIN_JOBS_MAX);
    let refused = slow.run(address(0), Box::new(|| unreachable!()), stays());
    assert_eq!(refused, Err(IsFull));
    // An address without a job takes the place of one of those that have many.
    let last = done.clone();
    let last = move || last.send((LOGIN_JOBS_MAX, true)).unwrap();
    slow.run(address(99), Box::new(last), stays()).unwrap();
    assert_eq!(slow.waiting(), LOGIN_JOBS_MAX);
    let (gone, was_done) = dones.recv().unwrap();
    assert!(!was_done && gone % SLOW_JOBS_PER_ADDRESS_MAX == SLOW_JOBS_PER_ADDRESS_MAX - 1);
    drop(go);
    let mut seen: Vec<_> = dones.iter().take(LOGIN_JOBS_MAX).collect();
    seen.push((gone, true));
    seen.sort_unstable();
    let each = (0..=LOGIN_JOBS_MAX).map(|number| (number, true));
    assert!(seen.into_iter().eq(each), "each once");
    slow.run(None, Box::new(|| {}), stays()).unwrap();
}

#[test]
fn what_waits_is_done_when_the_pool_goes() {
    let (done, dones) = mpsc::channel();
    let slow = WorkerPool::with(1, Duration::from_secs(3600), spawn_here());
    for number in 0..20 {
        let done = done.clone();
        slow.run(None, Box::new(move || done.send(number).unwrap()), stays())
            .unwrap();
    }
    drop((slow, done));
    // The channel ends when the thread has dropped the last job.
    assert_eq!(
        dones.iter().collect::<Vec<i32>>(),
        (0..20).collect::<Vec<i32>>()
    );
}

#[test]
fn idle_threads_end_and_come_again() {
    let slow = WorkerPool::with(2, Duration::from_millis(1), spawn_here());
    let (done, dones) = mpsc::channel();
    // Many times, to hit a thread that ends while a job arrives.
    for _ in 0..300 {
        let done = done.clone();
        slow.run(None, Box::new(move || done.send(()).unwrap()), stays())
            .unwrap();
        dones.recv_timeout(Duration::from_secs(20)).unwrap();
        std::thread::yield_now();
    }
    let began = std::time::Instant::now();
    while slow.threads() > 0 {
        assert!(began.elapsed() < Duration::from_secs(20), "they end");
        std::thread::yield_now();
    }
}
