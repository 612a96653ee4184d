//! Posts over NNTP: turns a reader's post into an article, or into a mail for a moderator.

use std::borrow::Cow;
use std::net::IpAddr;

use article::{Article, Form, Header, wire};
use groups::{Active, Sender};
use inject::{
    Draft, InjectRules, Injected, InjectionSite, InjectionTime, LoggedPoster, Moderators,
    PostEntry, Refusal, Route, mail_queue, message_id,
};
use relay::reason::RefusalKind;

use super::mails::Mails;
use super::warn;
use settings::cluster::cancel_secret;
use settings::{NewsDirectory, Settings, SystemZone};

/// The rules for posts.
pub struct Posts {
    directory: NewsDirectory,
    /// It belongs to a cluster.
    is_node: bool,
    rules: InjectRules,
    /// Time for which posts.log keeps a line, seconds; 0: there is none.
    log_seconds: i64,
    /// Mail to moderators.
    mails: Mails,
}

/// The result of a post.
pub enum Made {
    /// An article to file.
    Article(Injected),
    /// A mail to the moderator, which is on its way: the message-id of the post, and the address.
    Mailed(Vec<u8>, Vec<u8>),
    /// An article has its message-id.
    Duplicate,
    /// A refusal.
    Refused(RefusedPost),
}

/// A post that was refused.
pub struct RefusedPost {
    /// The reason.
    pub why: String,
    /// Its counter.
    pub kind: RefusalKind,
    /// The message-id of the post, or one for the logs where it has none.
    pub id: Vec<u8>,
    /// The id was made here.
    pub is_made: bool,
}

impl RefusedPost {
    /// The reply to the poster. With it, the administrator finds the post in the logs.
    pub fn reply(&self) -> Vec<u8> {
        let mut reply = self.why.clone().into_bytes();
        if self.is_made {
            reply.extend_from_slice(b" (logged as ");
            reply.extend_from_slice(&self.id);
            reply.push(b')');
        }
        reply
    }
}

impl Posts {
    /// The rules of the settings.
    pub fn new(directory: &NewsDirectory, settings: &Settings, mails: Mails) -> Posts {
        Posts {
            directory: directory.clone(),
            is_node: settings.is_node(),
            rules: settings.inject_rules(directory),
            log_seconds: settings.post.log_seconds(),
            mails,
        }
    }

    /// Turns a post in wire form into an article or a mail. `is_known` tells whether an id is in history.
    ///
    /// # Errors
    /// The post is valid, but an error of this machine prevents it.
    pub fn make(
        &self,
        post: &[u8],
        poster: &server::Poster,
        sender: &dyn Sender,
        active: &Active,
        is_known: impl Fn(&[u8]) -> Result<bool, store::Error>,
    ) -> anyhow::Result<Made> {
        let now = InjectionTime::now()?;
        let who = LoggedPoster {
            account: &poster.user,
            host: &poster.host,
            is_secure: poster.is_secure,
        };
        let mut entry =
            PostEntry::begin(self.directory.root(), self.log_seconds, who, now.seconds)?;
        let parsed = Article::parse(post, Form::Wire);
        let refuse = |entry: &PostEntry<'_>, (why, kind)| {
            let own = parsed.value(Header::MessageId).unwrap_or_default();
            let is_made = !article::message_id::valid_strict(own);
            let id = if is_made {
                message_id::new(now.seconds, now.random, &self.rules.mailname)
            } else {
                own.to_vec()
            };
            if is_made || !is_known(&id)? {
                entry.write_refused(&id);
            }
            let refused = RefusedPost {
                why,
                kind,
                id,
                is_made,
            };
            Ok(Made::Refused(refused))
        };
        if wire::has_bare_line_feed(post, parsed.header_len()) {
            let why = "a line of the header ends with LF without CR".to_owned();
            return refuse(&entry, (why, RefusalKind::Malformed));
        }
        let mut native = Vec::with_capacity(post.len());
        wire::push_native(&mut native, post);
        let injected = match self.inject(&native, poster, (sender, entry.token()), active, now)? {
            Ok(injected) => injected,
            Err(refusal) => {
                let kind = match refusal {
                    Refusal::NotAllowed(_) | Refusal::Blocked { .. } => RefusalKind::NotPermitted,
                    Refusal::TooLarge { .. } | Refusal::TooMany { .. } => RefusalKind::Size,
                    Refusal::NoGroup(_) => RefusalKind::Groups,
                    _ => RefusalKind::Other,
                };
                return refuse(&entry, (refusal.to_string(), kind));
            }
        };
        let is_duplicate = is_known(&injected.id)?;
        entry.write(&injected.id, is_duplicate)?;
        match &injected.route {
            Route::Mail { .. } if is_duplicate => Ok(Made::Duplicate),
            Route::File => Ok(Made::Article(injected)),
            Route::Mail { address, .. } => {
                self.mail(&injected, now)?;
                Ok(Made::Mailed(injected.id, address.clone()))
            }
        }
    }

    fn inject(
        &self,
        native: &[u8],
        poster: &server::Poster,
        (sender, token): (&dyn Sender, &str),
        active: &Active,
        now: InjectionTime,
    ) -> anyhow::Result<Result<Injected, Refusal>> {
        let draft = match Draft::parse(native) {
            Ok(draft) => draft,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let account = account(poster);
        let who = inject::Poster {
            account: account.as_bytes(),
            // The reader chooses From (RFC 5537, 3.5).
            from: b"",
            host: poster.host.as_bytes(),
            logging_data: token.as_bytes(),
            sender,
            is_admin: false,
        };
        let secret = cancel_secret(&self.directory, self.is_node);
        let secret = secret.map(Some).unwrap_or_else(|error| {
            warn(&format!("cannot create a Cancel-Lock: {error}"));
            None
        });
        let (moderators, _) = Moderators::of(self.directory.root())?;
        let site = InjectionSite {
            rules: &self.rules,
            active,
            moderators: &moderators,
            secret: secret.as_ref(),
            zone: &SystemZone,
        };
        Ok(inject::inject(draft, &who, &site, now))
    }

    /// Queues the mail; a thread passes it to the mail program.
    fn mail(&self, injected: &Injected, now: InjectionTime) -> anyhow::Result<()> {
        let path = mail_queue::enqueue(
            self.directory.root(),
            &injected.bytes,
            now.seconds,
            now.random,
        )?;
        self.mails.send(mail_queue::QueuedMail {
            path,
            since: now.seconds,
        });
        Ok(())
    }
}

/// The identity of the poster, for the lock that lets the poster cancel the post: the logged-in user. Without a login, only clients on this
/// machine have one, which they share: many people may use any other address. No login has a name with NUL.
fn account(poster: &server::Poster) -> Cow<'_, str> {
    let is_ours = |host: &str| {
        host.parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
    };
    match poster.user.as_str() {
        "" if is_ours(&poster.host) => format!("\x00{}", poster.host).into(),
        user => user.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_behind_one_address_cannot_cancel_each_other() {
        let poster = |user: &str, host: &str| server::Poster {
            user: user.to_owned(),
            host: host.to_owned(),
            is_secure: false,
        };
        assert_eq!(account(&poster("anna", "192.0.2.1")), "anna");
        assert_eq!(account(&poster("", "192.0.2.1")), "");
        assert_eq!(account(&poster("", "127.0.0.1")), "\x00127.0.0.1");
        assert_eq!(account(&poster("127.0.0.1", "192.0.2.1")), "127.0.0.1");
    }
}
