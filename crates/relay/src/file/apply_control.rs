//! The effects of filing a control message: cancels, and changes of groups.
//!
//! They are applied before the message itself is appended, so that both belong to one commit: after a kill neither exists, and the
//! batch is filed again.

use article::{Article, Header, message_id};
use groups::{Destination, Sender};
use store::{Expires, HistoryLine, NotKept, PendingCancel, Position, RemovalNote, RemovedBy};

use super::{CANCEL_IDS_MAX, Filer, Refusal};
use crate::cancel_lock::{self, Element};
use crate::control::decide::Disposition;
use crate::control::{ControlMessage, ids, kind_of};
use crate::error::Error;
use crate::log::{Code, Now};
use crate::reason::RefusalKind;

/// The condition for cancelling an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CancelPolicy {
    /// A Cancel-Key that matches its Cancel-Lock (RFC 8315).
    #[default]
    Locked,
    /// None, as in C News: anybody may cancel.
    Classic,
    /// No article can be cancelled.
    Never,
}

impl CancelPolicy {
    /// All choices with their names in the settings, the default first.
    pub const ALL: &[(&str, CancelPolicy)] = &[
        ("locked", CancelPolicy::Locked),
        ("classic", CancelPolicy::Classic),
        ("none", CancelPolicy::Never),
    ];

    /// The name in the settings.
    pub fn word(self) -> &'static str {
        CancelPolicy::ALL
            .iter()
            .find(|(_, policy)| *policy == self)
            .map_or("locked", |(word, _)| word)
    }

    /// The choice with this name.
    pub fn of(word: &str) -> Option<CancelPolicy> {
        CancelPolicy::ALL
            .iter()
            .find(|(known, _)| *known == word)
            .map(|(_, policy)| *policy)
    }
}

/// A log line after the line of the article itself.
#[derive(Debug)]
pub(super) struct Line {
    is_local: bool,
    code: Code,
    id: Vec<u8>,
    text: Vec<u8>,
}

impl Filer {
    /// Applies the control message in an accepted article. [`Filer::log_effects`] writes its log lines later.
    pub(super) fn apply_control(
        &mut self,
        article: &Article<'_>,
        sender: Option<&dyn Sender>,
        id: &[u8],
        now: Now,
    ) -> Result<(), Error> {
        self.effects.clear();
        self.cancels_itself = false;
        let Some(message) = ControlMessage::of(article) else {
            return Ok(());
        };
        // The effects come before filing, so an article that might not be filed must not have any.
        if !self.spool.surely_takes(article.bytes().len() as u64) {
            self.note(&[b"control message ignored: it is almost too large to be filed"]);
            return Ok(());
        }
        match message {
            ControlMessage::Cancel(value) => {
                let most = match self.options.cancel {
                    CancelPolicy::Classic => usize::MAX,
                    _ => CANCEL_IDS_MAX,
                };
                for cancelled in ids(value).take(most) {
                    self.cancel(cancelled, article, sender, id, now)?;
                }
                if ids(value).nth(most).is_some() {
                    let text = format!("ids after the first {CANCEL_IDS_MAX} ignored");
                    self.note(&[text.as_bytes()]);
                }
            }
            ControlMessage::MalformedCancel(value) => {
                self.note(&[b"malformed cancel `", value, b"'"]);
            }
            ControlMessage::Other(value) => self.run_control(value, article, now)?,
        }
        Ok(())
    }

    /// Logs the effects of [`Filer::apply_control`], and cancels an article that cancels itself.
    pub(super) fn log_effects(
        &mut self,
        site: &[u8],
        id: &[u8],
        position: Position,
        now: Now,
    ) -> Result<(), Error> {
        for line in self.effects.drain(..) {
            let (site, id) = if line.is_local {
                (crate::log::LOCAL, line.id.as_slice())
            } else {
                (site, id)
            };
            self.log.line(now, site, line.code, id, &line.text);
        }
        if std::mem::take(&mut self.cancels_itself) {
            self.remove(position, id, id, now)?;
        }
        Ok(())
    }

    /// Adds a `c` line.
    fn note(&mut self, text: &[&[u8]]) {
        self.effects.push(Line {
            is_local: false,
            code: Code::Control,
            id: Vec::new(),
            text: text.concat(),
        });
    }

    /// Processes a control message other than a cancel: newgroup, rmgroup, checkgroups and so on.
    fn run_control(&mut self, value: &[u8], article: &Article<'_>, now: Now) -> Result<(), Error> {
        let zone = self.options.zone;
        let serials = self.spool.serials().map_err(|error| error.to_string());
        let outcome = self.processor.decide(
            article,
            (self.spool.active(), serials),
            self.selector.sites().subscription(),
            (now.seconds, zone),
            false,
        );
        let Some(outcome) = outcome else {
            // Also-Control can only cancel.
            self.note(&[
                b"ignored control `",
                value,
                b"': Also-Control can only cancel",
            ]);
            return Ok(());
        };
        let at = (now.seconds, zone);
        self.processor
            .apply(&mut self.spool, article, &outcome, at)?;
        let why = outcome.why.as_bytes();
        match outcome.disposition {
            Disposition::Acted | Disposition::Nothing => {
                self.note(&[b"control `", value, b"': ", why])
            }
            _ => self.note(&[b"ignored control `", value, b"': ", why]),
        }
        Ok(())
    }

    /// Cancels one id, if the policy allows it.
    fn cancel(
        &mut self,
        cancelled: &[u8],
        article: &Article<'_>,
        sender: Option<&dyn Sender>,
        id: &[u8],
        now: Now,
    ) -> Result<(), Error> {
        if message_id::check(cancelled).is_err()
            || cancelled.len() > self.rules.message_id_bytes_max
        {
            self.note(&[b"malformed cancel `", cancelled, b"'"]);
            return Ok(());
        }
        let policy = self.options.cancel;
        if policy == CancelPolicy::Never {
            self.note(&[b"not cancelled `", cancelled, b"': cancels are disabled"]);
            return Ok(());
        }
        if message_id::same(cancelled, id) {
            self.cancels_itself = policy == CancelPolicy::Classic;
            return Ok(());
        }
        let found = match self.spool.find(cancelled)? {
            None => None,
            Some(line) => {
                // Not whether its space was given back already.
                let is_there = line.is_filed() && !self.spool.is_gone(&line)?;
                let position = line.position.filter(|_| is_there);
                let may_reach = || policy != CancelPolicy::Classic || may_reach(&line, sender);
                Some(position.map(|position| (position, may_reach())))
            }
        };
        match (found, policy) {
            // Known but not filed, or removed or expired already: nothing to do.
            (Some(None), _) => {}
            (Some(Some((position, may_reach))), CancelPolicy::Classic) => {
                if may_reach {
                    self.remove(position, cancelled, id, now)?
                } else {
                    self.note(&[
                        b"not cancelled `",
                        cancelled,
                        b"': the sender of the cancel may not send to its groups",
                    ])
                }
            }
            (Some(Some((position, _))), _) => match self.fault_of_cancel(position, article)? {
                None => self.remove(position, cancelled, id, now)?,
                Some(fault) => self.note(&[b"not cancelled `", cancelled, fault]),
            },
            (None, CancelPolicy::Classic) => {
                self.spool
                    .remember(cancelled, now.seconds, Expires::Absent)?;
                self.effects.push(Line {
                    is_local: true,
                    code: Code::Filed,
                    id: cancelled.to_vec(),
                    text: Vec::new(),
                });
            }
            (None, _) => {
                let key = article.find(b"Cancel-Key").unwrap_or_default();
                let keys = cancel_lock::elements_of(key);
                let not_kept = self.spool.add_pending_cancel(&PendingCancel {
                    seconds: now.seconds,
                    id: cancelled.to_vec(),
                    by: id.to_vec(),
                    keys: keys.iter().map(Element::to_bytes).collect(),
                })?;
                self.note(&[
                    b"not cancelled `",
                    cancelled,
                    match not_kept {
                        None => b"': the article is not here yet; its Cancel-Lock will decide"
                            .as_slice(),
                        Some(NotKept::NoKey) => {
                            b"': the article is not here, and the cancel has no Cancel-Key"
                        }
                        Some(NotKept::Known) => {
                            b"': the article is not here yet; the same Cancel-Key waits for it already"
                        }
                        Some(NotKept::Full) => {
                            b"': the article is not here yet, and no more Cancel-Keys may wait for it"
                        }
                    },
                ]);
            }
        }
        Ok(())
    }

    /// Removes the article at a position, cancelled by the message `by`.
    fn remove(&mut self, position: Position, id: &[u8], by: &[u8], now: Now) -> Result<(), Error> {
        let note = RemovalNote {
            seconds: now.seconds,
            until: now.seconds.saturating_add(self.options.restorable_seconds),
            by: RemovedBy::Cancel,
            text: by,
        };
        self.remove_visible(position, id, note)
    }

    /// Why a cancel has no effect on the article at a position; `None`: it has a key that matches the lock.
    fn fault_of_cancel(
        &mut self,
        position: Position,
        article: &Article<'_>,
    ) -> Result<Option<&'static [u8]>, Error> {
        const NO_KEY: &[u8] = b"': no Cancel-Key matches its Cancel-Lock";
        let key = article.find(b"Cancel-Key").unwrap_or_default();
        if key.is_empty() {
            return Ok(Some(NO_KEY));
        }
        let lock = match self.spool.cancel_lock(position) {
            // The writer does not wait for the object store: nobody vouches for the sender.
            Err(store::Error::Offloaded(_)) => {
                return Ok(Some(
                    b"': its Cancel-Lock is not here: run `broadsheet fsck --repair'",
                ));
            }
            lock => lock?,
        };
        let matches = lock.is_some_and(|lock| cancel_lock::matches(&lock, key));
        Ok((!matches).then_some(NO_KEY))
    }

    /// Returns the refusal of an article that a pending cancel matches; logs it then, and remembers the id.
    pub(super) fn refused_by_pending_cancel(
        &mut self,
        article: &Article<'_>,
        site: &[u8],
        id: &[u8],
        now: Now,
    ) -> Result<Option<Refusal>, Error> {
        let pending = self.spool.pending_cancels()?;
        if pending.is_empty() {
            return Ok(None);
        }
        let Some(cancel) = pending.find(id, now.seconds) else {
            return Ok(None);
        };
        let keys: Vec<_> = cancel
            .keys
            .iter()
            .flat_map(|key| cancel_lock::elements_of(key))
            .collect();
        let lock = article.find(b"Cancel-Lock").unwrap_or_default();
        if !cancel_lock::opens(&keys, lock) {
            return Ok(None);
        }
        let text = [b"cancelled in advance by ", cancel.by.as_slice()].concat();
        self.log.line(now, site, Code::Refused, id, &text);
        let expires = self.expires(article);
        self.spool.remember(id, now.seconds, expires)?;
        Ok(Some(Refusal::new(RefusalKind::Other, text)))
    }

    /// Adds the site `HOST.ihave` or `HOST.sendme` of sys to an ihave or sendme message of HOST; its batches answer the message.
    pub(super) fn push_answering_site(&mut self, article: &Article<'_>) {
        let Some(control) = article.value(Header::Control) else {
            return;
        };
        let mut words = control
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let Some(kind @ (b"ihave" | b"sendme")) = words.next().map(kind_of) else {
            return;
        };
        let Some(host) = words.next_back().filter(|host| *host != self.rules.host) else {
            return;
        };
        let name = [host, b".", kind].concat();
        let is_site = self
            .selector
            .sites()
            .sites()
            .iter()
            .any(|site| site.name == name);
        let mut there = self.sites.split(|&byte| byte == b' ');
        if is_site && !there.any(|site| site == name) {
            if !self.sites.is_empty() {
                self.sites.push(b' ');
            }
            self.sites.extend_from_slice(&name);
        }
    }
}

/// Whether a sender may send to the groups of an article.
fn may_reach(line: &HistoryLine<'_>, sender: Option<&dyn Sender>) -> bool {
    let Some(sender) = sender else {
        return true;
    };
    let destination = |(group, _)| Destination {
        name: group,
        filed_in: Some(group),
    };
    let destinations: Vec<Destination<'_>> = line.links().map(destination).collect();
    sender.may_file_in(&destinations)
}
