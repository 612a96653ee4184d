//! A few threads run slow jobs; jobs above the maximum are refused.
// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use std::net::IpAddr;
use std::sync::mpsc;
use std::time::Duration;

use server::worker_pool::{
    IsFull, LOGIN_JOBS_MAX, SLOW_JOBS_PER_ADDRESS_MAX, WorkerPool, spawn_here,
};

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
        slow.run(address(1), job("greedy")).unwrap();
    }
    assert_eq!(slow.run(address(1), job("greedy")), Err(IsFull));
    slow.run(address(2), job("first")).unwrap();
    slow.run(address(2), job("second")).unwrap();
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
        )
        .unwrap();
    }
    begins.recv().unwrap();
    begins.recv().unwrap();
    assert_eq!(slow.threads(), 2);
    let (done, dones) = mpsc::channel();
    for number in 0..LOGIN_JOBS_MAX {
        let done = done.clone();
        let address = address((number / SLOW_JOBS_PER_ADDRESS_MAX) as u8);
        slow.run(address, Box::new(move || done.send(number).unwrap()))
            .unwrap();
    }
    assert_eq!(slow.waiting(), LOGIN_JOBS_MAX);
    assert_eq!(slow.run(None, Box::new(|| unreachable!())), Err(IsFull));
    drop(go);
    let mut seen: Vec<usize> = dones.iter().take(LOGIN_JOBS_MAX).collect();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..LOGIN_JOBS_MAX), "each once");
    slow.run(None, Box::new(|| {})).unwrap();
}

#[test]
fn what_waits_is_done_when_the_pool_goes() {
    let (done, dones) = mpsc::channel();
    let slow = WorkerPool::with(1, Duration::from_secs(3600), spawn_here());
    for number in 0..20 {
        let done = done.clone();
        slow.run(None, Box::new(move || done.send(number).unwrap()))
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
        slow.run(None, Box::new(move || done.send(()).unwrap()))
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
