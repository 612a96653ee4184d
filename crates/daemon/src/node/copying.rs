//! A node that most others contradict fetches their articles by itself: a command makes the copy beside the spool, and the daemon starts again
//! with it.
//!
//! *Invariant:* a node takes a copy by itself at most once in [`COPY_HOURS_MIN`], so that nodes with a faulty program do not copy from each
//! other for ever.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use relay::log::Now;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use store::disk::RealDisk;

use crate::event::Event;
use crate::lock::lock;
use crate::sandbox::Starter;
use crate::{say, warn};

/// Shortest time between two copies that a node takes by itself, h.
pub const COPY_HOURS_MIN: u64 = 24;
/// The file of the news directory with the time at which the last copy took its place, seconds since 1970.
const TAKEN: &str = "cluster.reseeded";
/// Interval before the next attempt after a failed one: this, then twice as long each time.
const TRY_AGAIN_FIRST: Duration = Duration::from_secs(60);
/// The longest interval.
const TRY_AGAIN_LAST: Duration = Duration::from_secs(3600);

/// The reason why a node may not take a copy by itself now, as the beginning of a sentence; `None`: it may.
pub fn refusal(root: &Path) -> Option<String> {
    refusal_at(root, Now::read().seconds)
}

fn refusal_at(root: &Path, now: i64) -> Option<String> {
    let path = root.join(TAKEN);
    let taken = match store::regular::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return Some(format!("{} cannot be read ({error}); ", path.display())),
        Ok(text) => text.trim().parse::<i64>().ok(),
    };
    // A time that lies ahead may be wrong: then an administrator decides.
    let since = taken.and_then(|taken| u64::try_from(now.checked_sub(taken)?).ok());
    match since {
        Some(since) if since >= COPY_HOURS_MIN * 3600 => None,
        _ => Some(format!(
            "it has taken the articles of other nodes by itself less than {COPY_HOURS_MIN} h ago ({TAKEN}), and does not do so again; "
        )),
    }
}

/// Notes durably that a copy takes its place now.
///
/// # Errors
/// The file cannot be written.
pub fn note_taken(root: &Path) -> Result<(), store::Error> {
    let text = format!("{}\n", Now::read().seconds);
    store::replace(&RealDisk, &root.join(TAKEN), |file| {
        file.write_at(text.as_bytes(), 0)
    })
}

/// The command that makes the copy, started again until it has succeeded. Dropping the value ends it; the next one fetches what is missing.
#[derive(Debug)]
pub struct Copying(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    running: Option<Pid>,
    is_over: bool,
}

impl Copying {
    /// Fetches the articles of one of these nodes for the news directory `root`. Sends [`Event::CopyIsWhole`] when the copy is whole and
    /// durable.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn start(
        (program, root): (&Path, &Path),
        nodes: &[String],
        starter: &Starter,
        events: Sender<Event>,
    ) -> io::Result<Copying> {
        let shared: Arc<Shared> = Arc::default();
        let command = CopyCommand {
            program: program.to_owned(),
            arguments: arguments(root, nodes),
            shared: shared.clone(),
        };
        let run = move || {
            if command.succeeds() {
                // Without a receiver the daemon has ended: the next one finds the copy.
                let _ = events.send(Event::CopyIsWhole);
            }
        };
        starter.spawn("copy", Box::new(run))?;
        Ok(Copying(shared))
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.is_over = true;
        if let Some(pid) = state.running {
            let _ = kill_process(pid, Signal::TERM);
        }
        self.0.changed.notify_all();
    }
}

fn arguments(root: &Path, nodes: &[String]) -> Vec<OsString> {
    let words = ["cluster", "reseed", "--stage", "--dir"];
    let mut arguments: Vec<OsString> = words.map(OsString::from).into();
    arguments.push(root.into());
    for node in nodes {
        arguments.extend(["--from".into(), node.into()]);
    }
    arguments
}

struct CopyCommand {
    program: PathBuf,
    arguments: Vec<OsString>,
    shared: Arc<Shared>,
}

impl CopyCommand {
    /// Runs the command until it succeeds; false: the daemon ends.
    fn succeeds(&self) -> bool {
        let mut pause = TRY_AGAIN_FIRST;
        loop {
            say("fetching the articles of another node, beside those here");
            match self.run() {
                Ok(None) => return false,
                Ok(Some(status)) if status.success() => return true,
                Ok(Some(status)) => warn(&format!("the copy of another node failed: {status}")),
                Err(error) => warn(&format!("the copy of another node failed: {error}")),
            }
            say(&format!("the next attempt begins in {} s", pause.as_secs()));
            let is_on = |state: &mut State| !state.is_over;
            let state = lock(&self.shared.state);
            let waited = self.shared.changed.wait_timeout_while(state, pause, is_on);
            if waited.map_or(true, |(state, _)| state.is_over) {
                return false;
            }
            pause = (pause * 2).min(TRY_AGAIN_LAST);
        }
    }

    /// Runs the command once; `None`: the daemon ends.
    fn run(&self) -> io::Result<Option<std::process::ExitStatus>> {
        let child = {
            let mut state = lock(&self.shared.state);
            if state.is_over {
                return Ok(None);
            }
            let output = io::stderr().as_fd().try_clone_to_owned()?;
            let child = Command::new(&self.program)
                .arg0("broadsheet")
                .args(&self.arguments)
                .stdin(Stdio::null())
                .stdout(Stdio::from(output))
                .spawn()?;
            state.running = Some(Pid::from_child(&child));
            child
        };
        self.wait(child)
    }

    fn wait(&self, mut child: Child) -> io::Result<Option<std::process::ExitStatus>> {
        // The child is reaped only when no thread can kill it any more: another process could get its process id.
        let unreaped = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let pid = Pid::from_child(&child);
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), unreaped) {}
        let mut state = lock(&self.shared.state);
        state.running = None;
        let status = child.wait()?;
        Ok((!state.is_over).then_some(status))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_node_takes_a_copy_once_a_day() {
        let dir = tempfile::tempdir().unwrap();
        let now = Now::read().seconds;
        let day = COPY_HOURS_MIN as i64 * 3600;
        assert_eq!(refusal_at(dir.path(), now), None);
        note_taken(dir.path()).unwrap();
        assert!(refusal_at(dir.path(), now + day - 60).is_some());
        assert_eq!(refusal_at(dir.path(), now + day + 60), None);
        // The clock was set back, or somebody has changed the file.
        assert!(refusal_at(dir.path(), now - 3600).is_some());
        std::fs::write(dir.path().join(TAKEN), "yesterday\n").unwrap();
        assert!(refusal_at(dir.path(), now + 10 * day).is_some());
    }

    #[test]
    fn a_command_that_fails_is_started_again_until_the_daemon_ends() {
        let (events, told) = std::sync::mpsc::channel();
        let starter = Starter::start().unwrap();
        let start = |program: &str| {
            let ways = (Path::new(program), Path::new("/nowhere"));
            Copying::start(ways, &["b".to_owned()], &starter, events.clone()).unwrap()
        };
        let fails = start("/bin/false");
        drop(fails);
        assert!(told.try_recv().is_err());
        let succeeds = start("/bin/true");
        assert!(matches!(told.recv().unwrap(), Event::CopyIsWhole));
        drop(succeeds);
    }
}
