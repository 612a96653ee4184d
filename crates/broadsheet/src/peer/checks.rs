//! The steps of a test, each with its result.

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Ok,
    Failed,
    Skipped,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Failed => "failed",
            Verdict::Skipped => "skipped",
        }
    }
}

/// One line of the test.
#[derive(Clone, Debug)]
pub struct Check {
    /// Name of the step.
    pub what: &'static str,
    pub verdict: Verdict,
    /// The finding, for people.
    pub found: String,
    /// Advice, if it failed; otherwise empty.
    pub advice: String,
}

/// The checks so far.
#[derive(Default)]
pub struct Checks {
    pub all: Vec<Check>,
}

/// Ends the test: the last check says why.
pub struct Over;

impl Checks {
    fn add(&mut self, what: &'static str, verdict: Verdict, found: String, advice: &str) {
        let check = Check {
            what,
            verdict,
            // A stranger's server may have written it, and a terminal shows it.
            found: groups::shown(found.as_bytes()),
            advice: advice.to_owned(),
        };
        // Capabilities are asked for again after TLS and after the login: those count.
        match self.all.iter_mut().find(|check| check.what == what) {
            Some(before) => *before = check,
            None => self.all.push(check),
        }
    }

    /// A step that went well.
    pub fn ok(&mut self, what: &'static str, found: impl Into<String>) {
        self.add(what, Verdict::Ok, found.into(), "");
    }

    /// A step that was left out, and why.
    pub fn skipped(&mut self, what: &'static str, found: impl Into<String>) {
        self.add(what, Verdict::Skipped, found.into(), "");
    }

    /// A step that failed, and what to do.
    pub fn failed(&mut self, what: &'static str, found: impl Into<String>, advice: &str) -> Over {
        self.add(what, Verdict::Failed, found.into(), advice);
        Over
    }

    /// Whether this step went well.
    pub fn is_ok(&self, what: &str) -> bool {
        self.has(what, Verdict::Ok)
    }

    /// Whether this step failed.
    pub fn is_failed(&self, what: &str) -> bool {
        self.has(what, Verdict::Failed)
    }

    fn has(&self, what: &str, verdict: Verdict) -> bool {
        let mut all = self.all.iter();
        all.any(|check| check.what == what && check.verdict == verdict)
    }

    /// Whether nothing failed.
    pub fn are_good(&self) -> bool {
        let mut all = self.all.iter();
        all.all(|check| check.verdict != Verdict::Failed)
    }
}
