//! Starts scheduled commands: expire, segments offload, sendbatches, pull, report, backup and fsck; a pull also when a reader asks for a group that rests.
//!
//! Each command runs in its own process, so that its memory use and failure do not affect the daemon; it borrows the lock like any
//! other command. Each site with a schedule in its table has a task. A timer of the real-time clock wakes the thread when the next task is due, and when the clock is set.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use groups::When;
use groups::sites::Via;
use relay::log::Now;
use report::failed_tasks::{self, FailedTask};

use super::feeds::Feeds;
use super::journal::say_detail;
use super::readers::{Note, Readers};
use super::warn;
use settings::Settings;
use store::disk::RealDisk;

/// The file in the news directory with the last start of each task.
const STARTED: &str = "schedule";

/// Maximum number of simultaneous tasks; further due tasks start when one has ended.
pub const RUNNING_MAX: usize = 8;

/// A scheduled command.
#[derive(Debug)]
struct Task {
    /// `expire`, `offload`, `sendbatches`, `sendbatches SITE`, `pull NAME`, `report`, `backup` or `fsck`.
    name: String,
    when: When,
    /// Time of the last start, seconds since 1970; of a daily task that was never started, the time from which on it counts.
    last: Option<i64>,
    running: Option<Pid>,
    /// It starts as soon as it does not run, whatever its schedule says.
    is_urgent: bool,
}

impl Task {
    /// Whether it makes batches for sites.
    fn feeds(&self) -> bool {
        self.name.starts_with(SENDBATCHES)
    }
}

/// The tasks and their timer.
#[derive(Debug)]
pub struct Schedule {
    dir: PathBuf,
    /// The path of the program broadsheet.
    program: PathBuf,
    timer: OwnedFd,
    tasks: Mutex<Vec<Task>>,
    /// The tasks whose last run failed, as in the file.
    failed: Mutex<Vec<FailedTask>>,
    /// False while another node of the cluster feeds: then no batches are made.
    is_feeding: AtomicBool,
    /// This is a node of a cluster: what makes batches ends by itself, and with its commands, when the node may not feed any more. A signal
    /// would leave the commands behind.
    is_lent: AtomicBool,
    readers: Readers,
    /// The end of a task that makes batches may begin or end an outage.
    feeds: OnceLock<Arc<Feeds>>,
}

impl Schedule {
    /// The schedule of a news directory; starts no task yet.
    ///
    /// # Errors
    /// The timer cannot be created.
    pub fn new(dir: &Path, settings: &Settings, program: &Path) -> io::Result<Schedule> {
        let timer = timerfd_create(TimerfdClockId::Realtime, TimerfdFlags::CLOEXEC)?;
        let told = store::regular::read_to_string(&dir.join(STARTED)).unwrap_or_default();
        let mut started = starts(&told);
        let tasks = wanted(settings).map(|(name, when)| Task {
            last: started.remove(name.as_str()),
            name,
            when,
            running: None,
            is_urgent: false,
        });
        let tasks: Vec<Task> = tasks.collect();
        let failed = failed_tasks::read(dir);
        let schedule = Schedule {
            dir: dir.to_owned(),
            program: program.to_owned(),
            timer,
            tasks: Mutex::new(tasks),
            failed: Mutex::new(failed),
            is_feeding: AtomicBool::new(true),
            is_lent: AtomicBool::new(false),
            readers: Readers::new(dir, settings),
            feeds: OnceLock::new(),
        };
        schedule.forget_failed_of_none(&schedule.tasks());
        Ok(schedule)
    }

    /// Reports to the feeds that tasks have ended which make batches.
    pub fn report_to(&self, feeds: &Arc<Feeds>) {
        let _ = self.feeds.set(feeds.clone());
    }

    /// Starts due tasks, in a thread that runs until the process ends.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn start(self: Arc<Schedule>) -> io::Result<()> {
        let thread = std::thread::Builder::new().name("schedule".to_owned());
        thread.spawn(move || {
            loop {
                self.clone().look();
                let mut expirations = [0; 8];
                // The timer has expired, or returns ECANCELED because the clock was set.
                let _ = rustix::io::read(&self.timer, &mut expirations);
            }
        })?;
        Ok(())
    }

    /// Changes the settings. Running tasks continue.
    pub fn set(&self, settings: &Settings) {
        self.readers.set(settings);
        let mut tasks = self.tasks();
        let mut before: HashMap<String, Task> = std::mem::take(&mut *tasks)
            .into_iter()
            .map(|task| (task.name.clone(), task))
            .collect();
        *tasks = wanted(settings)
            .map(|(name, when)| match before.remove(&name) {
                Some(task) => Task { when, ..task },
                None => Task {
                    name,
                    when,
                    last: None,
                    running: None,
                    is_urgent: false,
                },
            })
            .collect();
        // Running tasks stay in the list, so that they end with the daemon.
        let ending = before.into_values().filter(|task| task.running.is_some());
        tasks.extend(ending.map(|task| Task {
            when: When::Off,
            is_urgent: false,
            ..task
        }));
        self.forget_failed_of_none(&tasks);
        self.wake(&tasks);
    }

    /// Lets batches be made on a node of a cluster, or not: then running tasks that make some end, since their permission does.
    pub fn set_feeding(&self, is_feeding: bool) {
        let tasks = self.tasks();
        self.is_lent.store(true, Ordering::SeqCst);
        self.is_feeding.store(is_feeding, Ordering::SeqCst);
        self.wake(&tasks);
    }

    /// Ends the running tasks; each of them survives a kill at any moment.
    pub fn stop(&self) {
        self.readers.save(None);
        for task in self.tasks().iter_mut() {
            task.when = When::Off;
            task.is_urgent = false;
            let ends_itself = task.feeds() && self.is_lent.load(Ordering::SeqCst);
            if let Some(pid) = task.running.filter(|_| !ends_itself) {
                let _ = kill_process(pid, Signal::TERM);
            }
        }
    }

    /// Notes that a reader asks for a group. Pulls at once from the servers of which it has rested.
    pub fn group_asked(&self, group: &[u8], now: i64) {
        let woken = match self.readers.ask(group, now) {
            Note::Nothing => return,
            Note::Save => Vec::new(),
            Note::Wake(woken) => woken,
        };
        let mut tasks = self.tasks();
        for server in woken {
            let name = format!("{PULL} {server}");
            for task in tasks.iter_mut().filter(|task| task.name == name) {
                task.is_urgent = true;
            }
        }
        self.wake(&tasks);
    }

    /// Starts a task as soon as it does not run. Returns false if there is none of this name, or it is off.
    pub fn start_now(&self, name: &str) -> bool {
        let mut tasks = self.tasks();
        let task = tasks.iter_mut().find(|task| task.name == name);
        let Some(task) = task.filter(|task| task.when != When::Off) else {
            return false;
        };
        task.is_urgent = true;
        self.wake(&tasks);
        true
    }

    fn tasks(&self) -> MutexGuard<'_, Vec<Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts due tasks, and sets the timer for the next one.
    fn look(self: Arc<Schedule>) {
        let mut tasks = self.tasks();
        let now = Now::read().seconds;
        // A pull reads the file.
        let is_urgent = tasks.iter().any(|task| task.is_urgent);
        let next_save = self.readers.save((!is_urgent).then_some(now));
        let mut started = begin(&mut tasks, now);
        let mut running = tasks.iter().filter(|task| task.running.is_some()).count();
        for task in tasks.iter_mut() {
            if task.feeds() && !self.is_feeding.load(Ordering::SeqCst) {
                continue;
            }
            let is_due =
                task.is_urgent || task.when.next(task.last, now).is_some_and(|due| due <= now);
            if is_due && task.running.is_none() && running < RUNNING_MAX {
                task.last = Some(now);
                task.is_urgent = false;
                started = true;
                match self.clone().run(&task.name) {
                    Ok(pid) => {
                        task.running = Some(pid);
                        running += 1;
                    }
                    Err(error) => {
                        let how = format!("cannot be started: {error}");
                        warn(&format!("{} {how}", task.name));
                        self.note_end(&task.name, Some(how));
                    }
                }
            }
        }
        if started && let Err(error) = self.remember(&tasks) {
            warn(&format!("cannot write {STARTED}: {error}"));
        }
        let next = tasks
            .iter()
            .filter(|task| task.running.is_none())
            .filter(|task| !task.feeds() || self.is_feeding.load(Ordering::SeqCst))
            .filter_map(|task| task.when.next(task.last, now))
            // A due task above the maximum is checked when another one ends.
            .filter(|due| running < RUNNING_MAX || *due > now)
            .chain(next_save)
            .min();
        // Sets the timer under the lock of the tasks, so that a change of the tasks is never lost.
        self.set_timer(next);
    }

    /// Wakes the thread immediately.
    fn wake(&self, _tasks: &MutexGuard<'_, Vec<Task>>) {
        self.set_timer(Some(0));
    }

    /// Sets the timer to `at`, seconds since 1970; `None` disables it.
    fn set_timer(&self, at: Option<i64>) {
        let value = Timespec {
            tv_sec: at.map_or(0, |at| at.max(0)),
            // All zeros would disable the timer.
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
            warn(&format!("cannot set the timer of the schedule: {error}"));
        }
    }

    /// Starts the command of a task, and a thread that waits for its end.
    fn run(self: Arc<Schedule>, name: &str) -> io::Result<Pid> {
        let output = io::stderr().as_fd().try_clone_to_owned()?;
        let mut command = Command::new(&self.program);
        command.arg0("broadsheet");
        if name == OFFLOAD {
            command.arg("segments");
        }
        match name.split_once(' ') {
            Some((word, site)) => command
                .args([word, "--dir"])
                .arg(&self.dir)
                .args(["--", site]),
            None => command.args([name, "--dir"]).arg(&self.dir),
        };
        if name == SENDBATCHES {
            command.arg("--unscheduled");
        }
        if name == REPORT {
            command.arg("--mail");
        }
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::from(output))
            .spawn()?;
        let pid = Pid::from_child(&child);
        say_detail(&format!("{name} started, process {}", child.id()));
        let thread = std::thread::Builder::new().name("task".to_owned());
        let name = name.to_owned();
        thread.spawn(move || self.wait(&name, child))?;
        Ok(pid)
    }

    fn wait(&self, name: &str, mut child: Child) {
        // The child is reaped only when no thread can kill it any more: another process could get its process id.
        let pid = Pid::from_child(&child);
        let unreaped = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), unreaped) {}
        let mut tasks = self.tasks();
        // The daemon ended it, or the settings have it no more.
        let mut is_off = true;
        for task in tasks.iter_mut().filter(|task| task.name == name) {
            task.running = None;
            is_off = task.when == When::Off;
        }
        let how = match child.wait() {
            Ok(status) if status.success() => None,
            Ok(status) => Some(status.to_string()),
            Err(error) => Some(error.to_string()),
        };
        match &how {
            None => say_detail(&format!("{name} ended")),
            Some(how) => warn(&format!("{name} ended: {how}")),
        }
        self.wake(&tasks);
        drop(tasks);
        self.note_end(name, how.filter(|_| !is_off));
    }

    /// Notes how a run of a task ended, for `status`, `check` and the report; `None`: well.
    fn note_end(&self, name: &str, how: Option<String>) {
        if let Some(feeds) = self.feeds.get().filter(|_| name.starts_with(SENDBATCHES)) {
            feeds.note_outage();
        }
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let known = failed.len();
        failed.retain(|failed| failed.task != name);
        if how.is_none() && failed.len() == known {
            return;
        }
        failed.extend(how.map(|how| FailedTask {
            task: name.to_owned(),
            at: Now::read().seconds,
            how,
        }));
        self.write_failed(&failed);
    }

    /// Takes tasks that are gone or switched off from those that failed: nothing would run them well.
    fn forget_failed_of_none(&self, tasks: &[Task]) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let known = failed.len();
        let runs = |name: &str| {
            let mut named = tasks.iter().filter(|task| task.name == name);
            named.any(|task| task.when != When::Off)
        };
        failed.retain(|failed| runs(&failed.task));
        if failed.len() < known {
            self.write_failed(&failed);
        }
    }

    fn write_failed(&self, failed: &[FailedTask]) {
        let text = failed_tasks::text_of(failed);
        let path = self.dir.join(failed_tasks::FILE);
        let written = store::replace(&RealDisk, &path, |file| file.write_at(text.as_bytes(), 0));
        if let Err(error) = written {
            warn(&format!("cannot write {}: {error}", failed_tasks::FILE));
        }
    }

    fn remember(&self, tasks: &[Task]) -> io::Result<()> {
        let line = |task: &Task| Some(format!("{} {}\n", task.name, task.last?));
        let text: String = tasks.iter().filter_map(line).collect();
        // Empty after a power cut, it would let the daemon forget what ran.
        let path = self.dir.join(STARTED);
        store::replace(&RealDisk, &path, |file| file.write_at(text.as_bytes(), 0))
            .map_err(io::Error::other)
    }
}

/// The task for all sites without their own schedule.
const SENDBATCHES: &str = "sendbatches";

/// The task that moves segments to the object store.
const OFFLOAD: &str = "offload";

/// A clock that goes back no more than this was corrected: a daily task that has started does not start again, seconds.
const CORRECTION_SECONDS: i64 = 3_600;

/// The task that mails the daily report.
const REPORT: &str = "report";

/// The first word of the task of a server to pull from.
const PULL: &str = "pull";

/// The tasks of the settings. Names of sites in tables have no blanks.
fn wanted(settings: &Settings) -> impl Iterator<Item = (String, When)> {
    let all = [
        ("expire".to_owned(), settings.schedule.expire),
        ("fsck".to_owned(), settings.schedule.fsck),
        (SENDBATCHES.to_owned(), settings.schedule.sendbatches),
    ];
    let sites = settings.sites.sites.iter().filter_map(|site| {
        let Via::Batch(via) = &site.via else {
            return None;
        };
        let name = String::from_utf8_lossy(&site.name);
        Some((format!("{SENDBATCHES} {name}"), via.schedule?))
    });
    let pulls = settings.pulls.iter();
    let pulls = pulls.map(|source| (format!("{PULL} {}", source.name), source.schedule));
    let is_mailed = !settings.report.mail.is_empty();
    let report = is_mailed.then(|| (REPORT.to_owned(), settings.schedule.report));
    let has_backups = !settings.backup.to.is_empty();
    let backup = has_backups.then(|| ("backup".to_owned(), settings.schedule.backup));
    let has_store = !settings.offload.url.is_empty();
    let offload = has_store.then(|| (OFFLOAD.to_owned(), settings.schedule.offload));
    let all = all.into_iter().chain(offload).chain(backup);
    all.chain(sites).chain(pulls).chain(report)
}

/// Sets the last start of new daily tasks to now: without a time to count from, the next day would always be the one after. Tasks that
/// started while the clock was ahead count from now, too; after a small correction a daily task keeps its start, since it would start twice.
/// Returns whether there are some.
fn begin(tasks: &mut [Task], now: i64) -> bool {
    let begins = |task: &&mut Task| match (task.last, task.when) {
        (Some(last), When::Daily(_)) => last > now.saturating_add(CORRECTION_SECONDS),
        (Some(last), _) => last > now,
        (None, when) => matches!(when, When::Daily(_)),
    };
    let tasks = tasks.iter_mut().filter(begins);
    tasks.map(|task| task.last = Some(now)).count() > 0
}

/// Parses the last start of each task.
fn starts(told: &str) -> HashMap<&str, i64> {
    let lines = told.lines().filter_map(|line| line.rsplit_once(' '));
    lines
        .filter_map(|(name, at)| Some((name, at.parse().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(when: When, last: Option<i64>) -> Task {
        Task {
            name: "expire".to_owned(),
            when,
            last,
            running: None,
            is_urgent: false,
        }
    }

    #[test]
    fn tasks_that_started_while_the_clock_was_ahead_start_when_their_time_comes() {
        let ahead = Some(40_000_000);
        let mut tasks = [
            task(When::Daily(43_200), ahead),
            task(When::Every(60), ahead),
        ];
        assert!(begin(&mut tasks, 40_000));
        // Later calls do not put it off.
        for now in [40_001, 40_059, 40_060] {
            assert!(!begin(&mut tasks, now));
        }
        let due = |now| tasks.each_ref().map(|task| task.when.next(task.last, now));
        assert_eq!(due(43_200), [Some(43_200), Some(40_060)]);
        // Two seconds after its start the clock goes back by four: once a day.
        let mut tasks = [task(When::Daily(43_200), Some(43_200))];
        assert!(!begin(&mut tasks, 43_198));
        let due = |now| tasks[0].when.next(tasks[0].last, now);
        assert_eq!(due(43_200), Some(43_200 + 86_400));
    }

    #[test]
    fn a_new_daily_task_starts_when_its_time_comes() {
        let noon = When::Daily(43_200);
        let mut tasks = [noon, When::Every(60), When::Off].map(|when| task(when, None));
        assert!(begin(&mut tasks, 40_000));
        assert!(!begin(&mut tasks, 43_200));
        let due = |now| tasks.each_ref().map(|task| task.when.next(task.last, now));
        assert_eq!(due(40_000), [Some(43_200), Some(40_000), None]);
        // At the very second, later, and after days without a daemon.
        for now in [43_200, 50_000, 900_000] {
            assert_eq!(due(now), [Some(43_200), Some(now), None]);
        }
    }

    #[test]
    fn the_file_tells_each_task() {
        let told = "expire 1700000000\nsendbatches x\nsendbatches north 5\n";
        let started = starts(told);
        assert_eq!(started.get("expire"), Some(&1_700_000_000));
        assert_eq!(started.get("sendbatches"), None);
        assert_eq!(started.get("sendbatches north"), Some(&5));
        assert!(starts("").is_empty());
    }
}
