//! The properties of a news directory that must hold after a power cut, and their check.

use std::collections::HashSet;
use std::fmt::Write as _;

use anyhow::{Context, Result};
use store::{HistoryLine, Snapshot};

use crate::news::News;
use crate::plan::{Plan, Step};
use crate::recording::Event;
use crate::workload::{Mark, accepted, links};

/// The progress of an operation at the cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Not begun.
    #[default]
    Ahead,
    /// Begun, and not acknowledged.
    Begun,
    /// Acknowledged.
    Done,
}

/// The state of an article at the cut.
#[derive(Clone, Debug, Default)]
struct Known {
    filed: Stage,
    cancelled: Stage,
    /// Its groups and numbers, with the progress of an expire of the group that began after the article was filed.
    links: Vec<(String, u64, Stage)>,
}

/// The properties that must hold.
#[derive(Clone, Debug)]
pub struct Expectation<'a> {
    plan: &'a Plan,
    articles: Vec<Known>,
    groups: Vec<(String, Stage)>,
}

impl<'a> Expectation<'a> {
    /// Makes the expectation after the first `before` events of the recording; numbers come from the whole recording.
    pub fn new(plan: &'a Plan, recording: &[Event], before: usize) -> Result<Expectation<'a>> {
        let mut steps = vec![Stage::Ahead; plan.steps.len()];
        let mut articles = vec![Known::default(); plan.articles.len()];
        let mut taken = HashSet::new();
        for (index, event) in recording.iter().enumerate() {
            let Event::Mark(line) = event else {
                continue;
            };
            match serde_json::from_slice(line)? {
                Mark::Begin(step) if index < before => set(&mut steps, step, Stage::Begun),
                Mark::Done(step) if index < before => set(&mut steps, step, Stage::Done),
                Mark::Taken(article) if index < before => {
                    taken.insert(article);
                }
                Mark::Numbers(numbers) => {
                    for (article, links) in numbers {
                        if let Some(known) = articles.get_mut(article) {
                            known.links = links
                                .into_iter()
                                .map(|(group, number)| (group, number, Stage::Ahead))
                                .collect();
                        }
                    }
                }
                _ => {}
            }
        }
        let mut expectation = Expectation {
            plan,
            articles,
            groups: Vec::new(),
        };
        for (step, stage) in plan.steps.iter().zip(steps) {
            expectation.note(step, stage, &taken);
        }
        Ok(expectation)
    }

    fn note(&mut self, step: &Step, stage: Stage, taken: &HashSet<usize>) {
        match step {
            Step::Rnews { articles, .. } | Step::Takethis { articles, .. } => {
                for &article in articles {
                    let filed = match taken.contains(&article) {
                        true => Stage::Done,
                        false => stage,
                    };
                    if let Some(known) = self.articles.get_mut(article) {
                        known.filed = filed;
                    }
                    let target = self.plan.articles.get(article).and_then(|it| it.cancels);
                    if let Some(known) = target.and_then(|it| self.articles.get_mut(it)) {
                        known.cancelled = known.cancelled.max(filed);
                    }
                }
            }
            Step::Expire { groups } => {
                // Only articles of earlier steps: later ones have not been noted yet.
                for (article, known) in self.plan.articles.iter().zip(&mut self.articles) {
                    if known.filed == Stage::Ahead {
                        continue;
                    }
                    for (group, _, expired) in &mut known.links {
                        if groups.contains(group) {
                            *expired = (*expired).max(stage);
                        } else if article.expires {
                            *expired = (*expired).max(stage.min(Stage::Begun));
                        }
                    }
                }
            }
            Step::AddGroup(name) => self.groups.push((name.clone(), stage)),
            // An article reads the same wherever it lies.
            Step::Offload { .. } | Step::Fetch => {}
        }
    }

    /// Number of acknowledged articles.
    pub fn acknowledged(&self) -> usize {
        let done = |known: &&Known| known.filed == Stage::Done;
        self.articles.iter().filter(done).count()
    }

    /// The expectation after the whole plan was passed to rnews once more, and that was cut, too: everything has begun.
    pub fn after_second_filing(mut self) -> Self {
        for known in &mut self.articles {
            known.filed = known.filed.max(Stage::Begun);
        }
        for article in &self.plan.articles {
            let target = article.cancels;
            if let Some(known) = target.and_then(|target| self.articles.get_mut(target)) {
                known.cancelled = known.cancelled.max(Stage::Begun);
            }
        }
        self
    }

    /// Lets the real binary recover and checks everything; returns the errors. Files the whole plan again.
    pub fn check(&self, news: &News, first: usize) -> Result<Vec<String>> {
        let mut errors = Vec::new();
        // The program that recovers first: one of several.
        let commands: [&[&str]; 4] = [
            &["history", "find", "<nothing@desk.example>"],
            &["group", "list"],
            &["rnews", "--json"],
            &["status"],
        ];
        if let Some(words) = commands.get(first % commands.len()) {
            let output = news.run(words)?;
            // `history find` exits with 1 if it finds nothing.
            if output.status.code().is_none_or(|code| code > 1) {
                let error = String::from_utf8_lossy(&output.stderr);
                errors.push(format!("{} {}: {error}", words.join(" "), output.status));
            }
        }
        let absent = match self.check_articles(news, &mut errors) {
            Ok(absent) => absent,
            Err(error) => {
                errors.push(format!("cannot be read: {error:#}"));
                return Ok(errors);
            }
        };
        let batch = self.plan.batch(0..self.plan.articles.len());
        let output = news.rnews(&batch, &[])?;
        if output.status.success() {
            let accepted = accepted(&output.stdout)?;
            if accepted != absent {
                errors.push(format!(
                    "{absent} articles were unknown, and {accepted} are accepted now"
                ));
            }
        } else {
            let error = String::from_utf8_lossy(&output.stderr);
            errors.push(format!("rnews {}: {error}", output.status));
        }
        fsck(news, &mut errors)?;
        Ok(errors)
    }

    /// Reads every article; returns the number of unknown ones.
    pub fn check_articles(&self, news: &News, errors: &mut Vec<String>) -> Result<usize> {
        let snapshot = Snapshot::open(news.dir()).context("opening")?;
        let mut numbers = HashSet::new();
        snapshot.each_history_line(|line| {
            if let Some(line) = HistoryLine::parse(line) {
                for (group, number) in links(&line) {
                    if !numbers.insert((group.clone(), number)) {
                        errors.push(format!("the number {group}/{number} was used twice"));
                    }
                }
            }
            Ok(())
        })?;
        for (name, stage) in &self.groups {
            if *stage == Stage::Done && snapshot.active().find(name.as_bytes()).is_none() {
                errors.push(format!("the group {name} is lost"));
            }
        }
        let mut absent = 0;
        for (article, known) in self.plan.articles.iter().zip(&self.articles) {
            let mut found = String::new();
            let is_there = check_article(&snapshot, article, known, &mut found);
            absent += usize::from(!is_there);
            if !found.is_empty() {
                errors.push(format!("{}:{found} ({known:?})", article.id));
            }
        }
        Ok(absent)
    }
}

/// Runs `fsck`, which must find nothing.
pub fn fsck(news: &News, errors: &mut Vec<String>) -> Result<()> {
    let fsck = news.run(&["fsck"])?;
    if !fsck.status.success() {
        let out = String::from_utf8_lossy(&fsck.stdout);
        let error = String::from_utf8_lossy(&fsck.stderr);
        errors.push(format!("fsck {}: {out}{error}", fsck.status));
    }
    Ok(())
}

fn set(stages: &mut [Stage], index: usize, stage: Stage) {
    if let Some(known) = stages.get_mut(index) {
        *known = stage;
    }
}

/// Checks one article; returns whether its id is known.
fn check_article(
    snapshot: &Snapshot,
    article: &crate::plan::Article,
    known: &Known,
    errors: &mut String,
) -> bool {
    let is_acknowledged = known.filed == Stage::Done;
    let line = match snapshot.history_line(article.id.as_bytes()) {
        Ok(line) => line,
        Err(error) => {
            let _ = write!(errors, " its history line cannot be read: {error};");
            return true;
        }
    };
    let Some(line) = line else {
        if is_acknowledged {
            errors.push_str(" acknowledged and lost;");
        }
        return false;
    };
    if known.filed == Stage::Ahead {
        errors.push_str(" known before it arrived;");
    }
    let numbers = known.links.iter();
    let same = links(&line)
        .iter()
        .map(|(group, number)| (group, number))
        .eq(numbers.map(|(group, number, _)| (group, number)));
    if is_acknowledged && !known.links.is_empty() && !same {
        let _ = write!(errors, " its numbers are {:?};", links(&line));
    }
    let lives = |(_, _, expired): &(String, u64, Stage)| *expired == Stage::Ahead;
    let must_live = is_acknowledged && known.cancelled == Stage::Ahead;
    match snapshot.article(article.id.as_bytes(), &mut Vec::new()) {
        Err(error) => {
            let _ = write!(errors, " cannot be read: {error};");
        }
        Ok(None) if must_live && known.links.iter().any(lives) => errors.push_str(" is dead;"),
        Ok(None) => {}
        Ok(Some(_)) if known.cancelled == Stage::Done => errors.push_str(" came back;"),
        Ok(Some(stored)) => {
            if !is_same(&article.bytes, &stored) {
                errors.push_str(" is not whole;");
            }
        }
    }
    for (group, number, expired) in known.links.iter().filter(|_| is_acknowledged) {
        match snapshot.article_by_number(group.as_bytes(), *number, &mut Vec::new()) {
            Err(error) => {
                let _ = write!(errors, " {group}/{number} cannot be read: {error};");
            }
            Ok(None) if must_live && *expired == Stage::Ahead => {
                let _ = write!(errors, " {group}/{number} is dead;");
            }
            Ok(Some(_)) if known.cancelled == Stage::Done || *expired == Stage::Done => {
                let _ = write!(errors, " {group}/{number} came back;");
            }
            Ok(Some(stored)) if !is_same(&article.bytes, &stored) => {
                let _ = write!(errors, " {group}/{number} is not whole;");
            }
            Ok(_) => {}
        }
    }
    true
}

/// Whether the bytes are the same, apart from Path and Xref.
fn is_same(article: &[u8], stored: &store::Record<'_>) -> bool {
    let mut native = Vec::new();
    stored.push_native(&mut native);
    without_ours(article).eq(without_ours(&native))
}

fn without_ours(article: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut in_header = true;
    let lines = article.split_inclusive(|&byte| byte == b'\n');
    lines.filter(move |line| {
        in_header &= *line != b"\n";
        !(in_header && (line.starts_with(b"Path:") || line.starts_with(b"Xref:")))
    })
}
