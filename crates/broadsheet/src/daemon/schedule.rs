//! What the daemon starts at its time: expire and sendbatches.
//!
//! Each runs as a process of its own, so that neither its memory nor its death is the daemon's; it borrows the lock as any
//! command does. One timer of the real-time clock wakes the thread when the next is due, and when the clock is set.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::when::When;
use super::{now, say};
use crate::settings;

/// The file in the news directory that tells when each task was started last.
const STARTED: &str = "schedule";

/// Something that is started at its time.
#[derive(Debug)]
struct Task {
    word: &'static str,
    when: When,
    /// Epoch seconds.
    last: Option<i64>,
    running: Option<Pid>,
}

/// The tasks and their timer.
#[derive(Debug)]
pub struct Schedule {
    dir: PathBuf,
    timer: OwnedFd,
    tasks: Mutex<Vec<Task>>,
}

impl Schedule {
    /// Of a news directory; nothing is started yet.
    ///
    /// # Errors
    /// The timer cannot be made.
    pub fn new(dir: &Path, settings: &settings::Schedule) -> io::Result<Schedule> {
        let timer = timerfd_create(TimerfdClockId::Realtime, TimerfdFlags::CLOEXEC)?;
        let told = std::fs::read_to_string(dir.join(STARTED)).unwrap_or_default();
        let task = |word, when| Task {
            word,
            when,
            last: last_of(&told, word),
            running: None,
        };
        let tasks = vec![
            task("expire", settings.expire),
            task("sendbatches", settings.sendbatches),
        ];
        Ok(Schedule {
            dir: dir.to_owned(),
            timer,
            tasks: Mutex::new(tasks),
        })
    }

    /// Starts what is due, in a thread of its own, for ever.
    ///
    /// # Errors
    /// The thread cannot be made.
    pub fn start(self: Arc<Schedule>) -> io::Result<()> {
        let thread = std::thread::Builder::new().name("schedule".to_owned());
        thread.spawn(move || {
            loop {
                self.clone().look();
                let mut expirations = [0; 8];
                // Time to look again; also ECANCELED, when the clock was set.
                let _ = rustix::io::read(&self.timer, &mut expirations);
            }
        })?;
        Ok(())
    }

    /// Goes by other settings from now on.
    pub fn set(&self, settings: &settings::Schedule) {
        let mut tasks = self.tasks();
        for task in tasks.iter_mut() {
            task.when = match task.word {
                "expire" => settings.expire,
                _ => settings.sendbatches,
            };
        }
        self.wake(&tasks);
    }

    /// Ends what is running: each task stands a kill at any moment.
    pub fn stop(&self) {
        for task in self.tasks().iter_mut() {
            task.when = When::Off;
            if let Some(pid) = task.running {
                let _ = kill_process(pid, Signal::TERM);
            }
        }
    }

    fn tasks(&self) -> MutexGuard<'_, Vec<Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts what is due, and sets the timer for the next.
    fn look(self: Arc<Schedule>) {
        let mut tasks = self.tasks();
        let now = now();
        let mut started = false;
        for task in tasks.iter_mut() {
            let is_due = task.when.next(task.last, now).is_some_and(|due| due <= now);
            if is_due && task.running.is_none() {
                task.last = Some(now);
                started = true;
                match self.clone().run(task.word) {
                    Ok(pid) => task.running = Some(pid),
                    Err(error) => say(&format!("cannot start {}: {error}", task.word)),
                }
            }
        }
        if started && let Err(error) = self.remember(&tasks) {
            say(&format!("cannot write {STARTED}: {error}"));
        }
        let next = tasks
            .iter()
            .filter(|task| task.running.is_none())
            .filter_map(|task| task.when.next(task.last, now))
            .min();
        // Set while the tasks are locked, so that a change of them is never overtaken.
        self.set_timer(next);
    }

    /// Lets the thread look again at once.
    fn wake(&self, _tasks: &MutexGuard<'_, Vec<Task>>) {
        self.set_timer(Some(0));
    }

    /// The timer goes off at `at`, epoch seconds; never for `None`.
    fn set_timer(&self, at: Option<i64>) {
        let value = Timespec {
            tv_sec: at.map_or(0, |at| at.max(0)),
            // All zero would turn it off.
            tv_nsec: i64::from(at.is_some()),
        };
        let none = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let set = timerfd_settime(
            &self.timer,
            TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET,
            &Itimerspec {
                it_interval: none,
                it_value: value,
            },
        );
        if let Err(error) = set {
            say(&format!("cannot set the timer of the schedule: {error}"));
        }
    }

    /// Starts the command of a task, and a thread that waits for its end.
    fn run(self: Arc<Schedule>, word: &'static str) -> io::Result<Pid> {
        let output = io::stderr().as_fd().try_clone_to_owned()?;
        // The program that runs, even where its file was replaced by a newer one.
        let child = Command::new("/proc/self/exe")
            .arg0("broadsheet")
            .args([word, "--dir"])
            .arg(&self.dir)
            .stdin(Stdio::null())
            .stdout(Stdio::from(output))
            .spawn()?;
        let pid = Pid::from_child(&child);
        say(&format!("{word} started, process {}", child.id()));
        let thread = std::thread::Builder::new().name(word.to_owned());
        thread.spawn(move || self.wait(word, child))?;
        Ok(pid)
    }

    fn wait(&self, word: &'static str, mut child: Child) {
        // Left unreaped until nobody can kill it any more: the number could be another process's by then.
        let pid = Pid::from_child(&child);
        let unreaped = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), unreaped) {}
        let mut tasks = self.tasks();
        for task in tasks.iter_mut().filter(|task| task.word == word) {
            task.running = None;
        }
        match child.wait() {
            Ok(status) if status.success() => say(&format!("{word} ended")),
            Ok(status) => say(&format!("{word} ended: {status}")),
            Err(error) => say(&format!("{word}: {error}")),
        }
        self.wake(&tasks);
    }

    fn remember(&self, tasks: &[Task]) -> io::Result<()> {
        let line = |task: &Task| Some(format!("{} {}\n", task.word, task.last?));
        let text: String = tasks.iter().filter_map(line).collect();
        let fresh = self.dir.join("schedule.new");
        std::fs::write(&fresh, text)?;
        std::fs::rename(fresh, self.dir.join(STARTED))
    }
}

/// When the file says that a task was started last.
fn last_of(told: &str, word: &str) -> Option<i64> {
    told.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(name, _)| *name == word)
        .and_then(|(_, at)| at.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_tells_each_task() {
        let told = "expire 1700000000\nsendbatches x\n";
        assert_eq!(last_of(told, "expire"), Some(1_700_000_000));
        assert_eq!(last_of(told, "sendbatches"), None);
        assert_eq!(last_of("", "expire"), None);
    }
}
