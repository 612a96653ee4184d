//! Reloading: new settings come into force together, or not at all.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use server::certificates::Certificates;
use settings::Finding;

use super::files::Files;
use super::in_cluster::RULES_CHANGED;
use super::{State, Writer};
use crate::connection::Client;
use crate::lock::lock;
use crate::mails::Mails;
use crate::notify::notify;
use crate::request::{ATTENTION, Answer, BAD_SETTINGS, OK};
use crate::{failure, nntp_service, other_files, say, warn};

/// The files that a reload has read.
pub(super) struct ReadAgain {
    pub(super) files: Files,
    pub(super) certificates: Option<Arc<Certificates>>,
    /// The warnings, for the client that requested it too.
    pub(super) warnings: Vec<Finding>,
}

/// The exit status of `reload` after an error.
fn status_of(error: &anyhow::Error) -> u8 {
    if failure::is_of_settings(error) {
        BAD_SETTINGS
    } else {
        ATTENTION
    }
}

impl Writer {
    pub(super) fn reload(&mut self, client: Option<Client>) {
        let monotonic = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let micros = monotonic.tv_sec * 1_000_000 + monotonic.tv_nsec / 1_000;
        notify(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
        let (told, status) = match self.read_again() {
            Ok(read) => self.go_by(read),
            Err(error) => {
                let text = failure::text_of(&error);
                let text = format!("{text}\nthe settings are unchanged");
                (vec![text], status_of(&error))
            }
        };
        notify("READY=1");
        if status == OK {
            say("settings reloaded");
            self.feeds.note_outage();
        }
        told.iter().for_each(|text| warn(text));
        if let Some(mut client) = client {
            // The journal has those of opening the spool already.
            let opened = self.filer.as_ref().filter(|_| status == OK);
            let opened = opened.map(|filer| filer.spool());
            let notices = opened.map_or_else(Vec::new, |spool| spool.notices());
            let bad_lines = opened.map_or_else(Vec::new, |spool| spool.bad_lines_of_active());
            let is_bad = !bad_lines.is_empty();
            let others = bad_lines.iter().filter(|line| !notices.contains(line));
            for text in told.iter().chain(&notices).chain(others) {
                client.say(&Answer::Message(text.clone()));
            }
            client.say(&Answer::Done(if is_bad { ATTENTION } else { status }));
        }
    }

    /// Reads everything that a reload reads. After an error nothing has changed.
    fn read_again(&self) -> anyhow::Result<ReadAgain> {
        let read = self.directory.settings()?;
        let warnings = other_files::look_at(&self.directory, &read).refuse()?;
        let files = Files::of(&self.directory, read.settings)?;
        if files.settings.is_node() != self.log_options.is_some() {
            anyhow::bail!("cluster.servers has changed: restart the daemon");
        }
        if files.rules != self.files.rules {
            anyhow::bail!(RULES_CHANGED);
        }
        if files.settings.headers_only != self.files.settings.headers_only {
            anyhow::bail!("headers_only has changed: restart the daemon");
        }
        let nntp_service = lock(&self.writer.nntp_service);
        let certificates = nntp_service::look_at_certificates(
            nntp_service.as_ref(),
            &self.directory,
            &files.settings,
        )?;
        Ok(ReadAgain {
            files,
            certificates,
            warnings,
        })
    }

    /// Puts new settings into force; returns the messages for the client that requested the reload.
    pub(super) fn go_by(
        &mut self,
        ReadAgain {
            files,
            certificates,
            warnings,
        }: ReadAgain,
    ) -> (Vec<String>, u8) {
        self.files = files;
        self.apply();
        self.posts = None;
        store::offload::reconnect(self.directory.root());
        let mailer = self.files.settings.mailer(&self.directory);
        self.mails = Mails::new(self.directory.root(), mailer, &self.starter);
        self.mails.retry();
        // Tries the files that stayed in in.coming/ again.
        self.drain = None;
        self.writer.is_drain_due.store(true, Ordering::SeqCst);
        // Opens the spool again, so that an edited active is read too, and new sites get a cursor before they are served.
        self.close(State::Closed);
        let opened = self.open().map(drop);
        self.schedule.set(&self.files.settings);
        self.start_feeders();
        let nntp = &self.files.settings.nntp;
        let mut others = nntp.wants_new_start(&self.started);
        if self.files.settings.sandbox != self.is_confined {
            others.push("sandbox");
        }
        if nntp.certificate.is_empty() && certificates.is_some() {
            others.push("nntp.certificate");
        }
        if let Some(nntp_service) = &mut *lock(&self.writer.nntp_service) {
            nntp_service.reload(&self.directory, &self.files.settings, certificates);
        }
        let told = |key| format!("{key} has changed: restart the daemon to apply it");
        let mut told: Vec<String> = warnings
            .iter()
            .map(Finding::sentence)
            .chain(others.into_iter().map(told))
            .collect();
        match opened {
            Ok(()) => {
                // What stopped the filing may be mended.
                self.writer.intake_queue.went_well();
                (told, OK)
            }
            Err(error) => {
                told.push(failure::text_of(&error));
                (told, status_of(&error))
            }
        }
    }
}
