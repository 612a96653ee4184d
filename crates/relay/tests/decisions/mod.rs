//! A small news system in memory: active, sys, history and rules, for tests of the decision.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use std::convert::Infallible;

use article::{Article, Form};
use groups::Sites;
use groups::active::Active;
use groups::matrix::Matrix;
use relay::decide::{Arrival, Decision, Scratch, State, decide};
use relay::rules::Rules;

/// 1 June 2001, 12:00:00 UTC.
pub const NOW: i64 = 991_396_800;

/// Our name.
pub const HOST: &str = "us.example";

pub const ACTIVE: &str = "\
comp.alias 0000000000 00001 =comp.lang.c
comp.deadend 0000000000 00001 =comp.nowhere
comp.lang.c 0000000041 00001 y
comp.local 0000000000 00001 n
comp.loop.a 0000000000 00001 =comp.loop.b
comp.loop.b 0000000000 00001 =comp.loop.a
comp.mod 0000000007 00001 m
comp.modalias 0000000000 00001 =comp.mod
comp.inn 0000000000 00001 j
comp.std 0000000000 00001 y
comp.x 0000000000 00001 x
comp.xalias 0000000000 00001 =comp.x
control 0000000000 00001 y
junk 0000000000 00001 y
misc.test 0000000000 00001 y
";

pub const SYS: &str = "\
ME:comp,control,junk/all::
";

pub struct Decisions {
    pub active: String,
    pub sys: String,
    pub rules: Rules,
    pub seen: Vec<&'static str>,
    pub is_announced: bool,
}

impl Decisions {
    pub fn new() -> Decisions {
        Decisions {
            active: ACTIVE.to_owned(),
            sys: SYS.to_owned(),
            rules: Rules::new(HOST.as_bytes()),
            seen: vec!["<old@a.example>"],
            is_announced: false,
        }
    }

    /// `accept GROUP GROUP`, with `control` or `junk` first where it is that, or `refuse TEXT`, with
    /// `, remembered` at the end where it is; x'ed groups follow as ` x GROUP`.
    pub fn verdict(&self, text: &str) -> String {
        let active = Active::parse(self.active.clone().into_bytes()).unwrap();
        let sys = Sites::parse(self.sys.as_bytes(), HOST.as_bytes()).unwrap();
        let mut matrix = Matrix::new(&active, &sys);
        let mut state = State {
            active: &active,
            matrix: &mut matrix,
            zone: &article::date::Utc,
            sender: None,
            is_announced: self.is_announced,
        };
        let seen = |id: &[u8]| Ok::<_, Infallible>(self.seen.iter().any(|s| s.as_bytes() == id));
        let article = Article::parse(text.as_bytes(), Form::Native);
        let mut scratch = Scratch::default();
        let arrival = Arrival { seconds: NOW };
        let Ok(decision) = decide(
            &article,
            arrival,
            &mut state,
            &self.rules,
            seen,
            &mut scratch,
        );
        let name = |id| String::from_utf8_lossy(active.name(id)).into_owned();
        let mut shown = match decision {
            Decision::Accept { control, junk } => {
                let mut shown = "accept".to_owned();
                for (is, word) in [(control, " (control)"), (junk, " (junk)")] {
                    if is {
                        shown.push_str(word);
                    }
                }
                for id in scratch.filed() {
                    shown.push(' ');
                    shown.push_str(&name(*id));
                }
                shown
            }
            Decision::Refuse { reason, remember } => {
                let text = String::from_utf8_lossy(&reason.text()).into_owned();
                format!(
                    "refuse {text}{}",
                    if remember { ", remembered" } else { "" }
                )
            }
        };
        for id in scratch.excluded() {
            shown.push_str(" x ");
            shown.push_str(&name(*id));
        }
        shown
    }
}

/// A good article, some of whose lines are replaced (`Name: value`) or left out (`Name`).
pub fn article(changes: &[&str]) -> String {
    let mut lines: Vec<String> = [
        "Path: far.example!near.example!user",
        "From: user@far.example (A User)",
        "Newsgroups: comp.lang.c",
        "Subject: a test",
        "Message-ID: <1@far.example>",
        "Date: Fri, 1 Jun 2001 10:00:00 GMT",
    ]
    .map(str::to_owned)
    .to_vec();
    for change in changes {
        let name = change.split(':').next().unwrap();
        let at = lines
            .iter()
            .position(|line| line.split(':').next() == Some(name));
        match (at, change.contains(':')) {
            (Some(at), true) => lines[at] = (*change).to_owned(),
            (Some(at), false) => {
                lines.remove(at);
            }
            (None, false) if !change.contains(char::is_whitespace) => {}
            (None, _) => lines.push((*change).to_owned()),
        }
    }
    format!("{}\n\nbody\n", lines.join("\n"))
}
