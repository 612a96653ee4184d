//! Measures one child process.
//!
//! The kernel accumulates `RUSAGE_CHILDREN` over all children of a process,
//! and a maximum cannot be separated again. So each measured command gets a
//! small process of its own (`bench measure`) that has no other child.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// The resource usage of a command, including the start of the process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usages {
    /// Real time, from before the start to after the end.
    pub real: Duration,
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Largest resident set, in KiB; at least that of `bench measure` (about 3,000).
    pub resident_kib: u64,
}

impl Usages {
    /// User and system time together.
    pub fn cpu(&self) -> Duration {
        self.user + self.system
    }

    /// Adds the times of another run; the memory is the larger one.
    pub fn add(&mut self, other: &Usages) {
        self.real += other.real;
        self.user += other.user;
        self.system += other.system;
        self.resident_kib = self.resident_kib.max(other.resident_kib);
    }
}

/// The result of a command.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Its resource usage.
    pub usages: Usages,
    /// Its exit status; 255 if a signal ended it.
    pub status: u8,
    /// Its standard output.
    pub output: String,
}

/// The input of a measured command.
pub enum Input<'a> {
    /// A file, opened as standard input: `command < file`.
    File(&'a Path),
    /// The standard output of another command, through a pipe.
    Pipe(Command),
}

/// Runs a command through `bench measure` and waits for it.
///
/// # Errors
/// A process cannot be started. A command that fails is not an error here.
pub fn measured(dir: &Path, command: &[&str], input: Input<'_>) -> Result<Outcome> {
    let report = dir.join("usage");
    let output = dir.join("output");
    let mut wrapper = Command::new(std::env::current_exe().context("finding the bench itself")?);
    wrapper
        .arg("measure")
        .arg(&report)
        .args(command)
        .stdout(File::create(&output).context("keeping the output")?);
    match input {
        Input::File(file) => {
            let batch = File::open(file).with_context(|| format!("opening {}", file.display()))?;
            run(wrapper.stdin(batch))?;
        }
        Input::Pipe(mut source) => {
            let mut source = source
                .stdout(Stdio::piped())
                .spawn()
                .context("starting what fills the pipe")?;
            let pipe = source
                .stdout
                .take()
                .context("the pipe asked for is not there")?;
            let ran = run(wrapper.stdin(pipe));
            source.wait()?;
            ran?;
        }
    }
    let text = std::fs::read_to_string(&report)
        .with_context(|| format!("{} left no measurement", command.join(" ")))?;
    let mut outcome = read_report(&text).with_context(|| format!("an odd measurement: {text}"))?;
    outcome.output = String::from_utf8_lossy(&std::fs::read(&output)?).into_owned();
    Ok(outcome)
}

fn run(wrapper: &mut Command) -> Result<()> {
    let status = wrapper.status().context("starting bench measure")?;
    if !status.success() {
        bail!("bench measure could not run the command");
    }
    Ok(())
}

/// `bench measure REPORT COMMAND ARGUMENT…`: the small process. The command uses its standard
/// input and output.
///
/// # Errors
/// The command cannot be started, or the report cannot be written.
pub fn measure(report: PathBuf, command: &[std::ffi::OsString]) -> Result<()> {
    let Some((program, arguments)) = command.split_first() else {
        bail!("measure what?")
    };
    let begin = Instant::now();
    let status = Command::new(program).args(arguments).status();
    let real = begin.elapsed();
    let status = status.with_context(|| format!("running {}", program.to_string_lossy()))?;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let (user, system) = times(&usage);
    let code = status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(255);
    let text = format!(
        "{} {} {} {} {code}\n",
        real.as_micros(),
        user.as_micros(),
        system.as_micros(),
        usage.max_rss()
    );
    std::fs::write(&report, text).context("writing the measurement")
}

/// User and system time of this process so far.
///
/// # Errors
/// Those of the system call.
pub fn own_times() -> Result<(Duration, Duration)> {
    Ok(times(&getrusage(UsageWho::RUSAGE_SELF)?))
}

/// The number of all system calls that `strace -c` counted, and the most frequent ones.
///
/// # Errors
/// There is no total.
pub fn counted_calls(text: &str) -> Result<(u64, String)> {
    let mut most = String::new();
    let mut total = None;
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (Some(Ok(calls)), Some(name)) =
            (words.get(3).map(|word| word.parse::<u64>()), words.last())
        else {
            continue;
        };
        if *name == "total" {
            total = Some(calls);
        } else if most.split(' ').count() <= 16 {
            most.push_str(&format!(" {name} {calls}"));
        }
    }
    Ok((total.context("strace printed no total")?, most))
}

fn times(usage: &Usage) -> (Duration, Duration) {
    let time = |value: nix::sys::time::TimeVal| {
        Duration::from_micros(value.num_microseconds().unsigned_abs())
    };
    (time(usage.user_time()), time(usage.system_time()))
}

fn read_report(text: &str) -> Option<Outcome> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
    let mut next = || numbers.next().and_then(Result::ok);
    let usages = Usages {
        real: Duration::from_micros(next()?),
        user: Duration::from_micros(next()?),
        system: Duration::from_micros(next()?),
        resident_kib: next()?,
    };
    Some(Outcome {
        usages,
        status: u8::try_from(next()?).ok()?,
        output: String::new(),
    })
}
