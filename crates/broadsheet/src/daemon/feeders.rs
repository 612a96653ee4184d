//! Feeds that get their articles as soon as they are filed: a thread for each, which sleeps until something is.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use feed::program::{Given, Program};
use feed::{Place, place};
use groups::Sites;
use groups::sites::{Site, Via};
use store::Reader;

use super::feeds::Feeds;
use super::say;
use crate::directory::NewsDirectory;
use crate::exit;
use crate::serving::{Serving, is_immediate, why_it_waits};

/// What could not be served is tried again after a second, and after twice as long each time, at most five minutes.
const TRY_AGAIN_FIRST: Duration = Duration::from_secs(1);
const TRY_AGAIN_LAST: Duration = Duration::from_secs(300);

/// The threads of one reading of the sites.
#[derive(Debug)]
pub struct Feeders {
    feeds: Arc<Feeds>,
    are_over: Arc<AtomicBool>,
}

impl Feeders {
    /// Starts a thread for each feed that wants its articles at once.
    ///
    /// # Errors
    /// A thread cannot be made.
    pub fn start(
        directory: &NewsDirectory,
        sites: &Sites,
        feeds: &Arc<Feeds>,
    ) -> io::Result<Feeders> {
        let feeders = Feeders {
            feeds: feeds.clone(),
            are_over: Arc::default(),
        };
        for (name, site) in sites.feeds().filter(|(_, site)| is_immediate(&site.via)) {
            let feeder = Feeder {
                directory: directory.clone(),
                sites: sites.clone(),
                name: name.to_vec(),
                site: site.clone(),
                feeds: feeds.clone(),
                is_over: feeders.are_over.clone(),
            };
            let thread = std::thread::Builder::new().name("feed".to_owned());
            thread.spawn(move || feeder.follow())?;
        }
        Ok(feeders)
    }
}

impl Drop for Feeders {
    /// Each ends when it has done what it is at. Nobody waits for that: a site is served by one at a time anyway.
    fn drop(&mut self) {
        self.are_over.store(true, Ordering::SeqCst);
        self.feeds.tell();
    }
}

/// One of them.
struct Feeder {
    directory: NewsDirectory,
    sites: Sites,
    name: Vec<u8>,
    site: Site,
    feeds: Arc<Feeds>,
    is_over: Arc<AtomicBool>,
}

/// When a feed has its next turn.
enum Next {
    /// When something was filed.
    WhenFiled,
    /// After a while, for this reason.
    Later(String),
    /// Then: its program ended and rests.
    Then(Instant, String),
}

impl Feeder {
    fn follow(&self) {
        let mut program = match &self.site.via {
            Via::Program { command, gives } => {
                let limit = Duration::from_secs(feed::transport::COMMAND_SECONDS_MAX);
                Some(Program::new(command.clone(), *gives, limit))
            }
            _ => None,
        };
        let mut desk = None;
        let mut pause = TRY_AGAIN_FIRST;
        let mut told = String::new();
        while !self.is_over.load(Ordering::SeqCst) {
            let seen = self.feeds.count();
            let next = match self.turn(&mut desk, program.as_mut()) {
                Ok(next) => next,
                Err(error) => Next::Later(exit::text_of(&error)),
            };
            let (until, why) = match next {
                Next::WhenFiled => {
                    pause = TRY_AGAIN_FIRST;
                    told.clear();
                    self.feeds.wait(seen);
                    continue;
                }
                Next::Later(why) => {
                    let until = Instant::now() + pause;
                    pause = (pause * 2).min(TRY_AGAIN_LAST);
                    (until, why)
                }
                Next::Then(until, why) => (until, why),
            };
            if why != told {
                say(&format!("{}: {why}", place::shown(&self.name)));
                told = why;
            }
            self.feeds
                .rest(until, || self.is_over.load(Ordering::SeqCst));
        }
        if let Some(how) = program.and_then(Program::end) {
            say(&format!("{}: {how}", place::shown(&self.name)));
        }
        // Whoever found the site being served has his turn.
        self.feeds.tell();
    }

    /// One turn. What it needs for it is kept for the next.
    fn turn<'f>(
        &'f self,
        desk: &mut Option<(Reader, Serving<'f>)>,
        program: Option<&mut Program>,
    ) -> anyhow::Result<Next> {
        let (reader, serving) = match desk {
            Some(desk) => desk,
            none => {
                let reader = Reader::open(self.directory.root())?;
                let serving = Serving::new(&self.directory, &self.sites, &reader)?;
                none.insert((reader, serving))
            }
        };
        let Some(program) = program else {
            return Ok(match serving.serve(&self.name, &self.site, reader) {
                Ok(served) => why_it_waits(&served).map_or(Next::WhenFiled, Next::Later),
                Err(error) => Next::Later(error.to_string()),
            });
        };
        self.give(serving, program, reader)
    }

    fn give(
        &self,
        serving: &mut Serving<'_>,
        program: &mut Program,
        reader: &mut Reader,
    ) -> anyhow::Result<Next> {
        let root = self.directory.root();
        if let Some(why) = place::paused(root, &self.name)? {
            return Ok(Next::Later(format!("paused: {why}")));
        }
        let taken = match Place::take(root, &self.name, reader) {
            Ok(taken) => taken,
            Err(error) => return Ok(Next::Later(error.to_string())),
        };
        let mut togo = serving.togo(taken, reader);
        Ok(match program.give(&mut togo, Instant::now())? {
            Given::All(_) => Next::WhenFiled,
            Given::Rests(until) => Next::Then(until, "its program rests".to_owned()),
            Given::Ended { how, again, .. } => Next::Then(again, how),
        })
    }
}
