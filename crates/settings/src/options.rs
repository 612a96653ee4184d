//! The options of the other crates, made of the settings.

use std::path::Path;
use std::time::Duration;

use crate::{NewsDirectory, Settings, Sync, SystemZone};

/// The file with the keys for a bucket: the access key and the secret key, each on a line.
pub const OBJECTS_LOGIN_FILE: &str = "keys/offload.login";

impl Settings {
    /// The rules for articles.
    pub fn rules(&self) -> relay::Rules {
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let seconds = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let age = self.limits.article_age_days_max;
        relay::Rules {
            article_bytes_max: count(self.limits.article_bytes_max),
            header_bytes_max: count(self.limits.header_bytes_max),
            groups_max: count(self.limits.groups_per_article_max),
            message_id_bytes_max: count(self.limits.message_id_bytes_max),
            future_seconds_max: seconds(self.limits.clock_skew_seconds),
            junk: self.junk,
            blocks: self.blocks.clone(),
            age_seconds_max: (age > 0).then(|| seconds(age.saturating_mul(86_400))),
            ..relay::Rules::new(self.name.as_bytes())
        }
    }

    /// The options of filing, besides the rules.
    pub fn filer_options(&self) -> relay::FilerOptions {
        relay::FilerOptions {
            cancel: self.control.cancel,
            processor: self.control_options(),
            zone: &SystemZone,
            restorable_seconds: self.restorable_seconds(),
            keep_free: self.incoming.keep_free,
            headers_only: self.headers_only,
            ..relay::FilerOptions::default()
        }
    }

    /// Time for which a removed article can be restored, seconds.
    pub fn restorable_seconds(&self) -> i64 {
        let seconds = self.store.restorable_days.saturating_mul(86_400);
        i64::try_from(seconds).unwrap_or(i64::MAX)
    }

    /// The options for control messages that make and remove groups.
    pub fn control_options(&self) -> relay::control::processor::ControlOptions {
        let days = self.control.age_days_max;
        let seconds = i64::try_from(days.saturating_mul(86_400)).unwrap_or(i64::MAX);
        relay::control::processor::ControlOptions {
            age_seconds_max: (days > 0).then_some(seconds),
            name_part_bytes_max: usize::try_from(self.control.name_part_bytes_max)
                .unwrap_or(usize::MAX),
        }
    }

    /// The permissions of clients in a news directory.
    pub fn access(&self, news: &Path) -> access::Access {
        let time_max = Duration::from_secs(self.auth.program_seconds);
        let program = self.auth.command().and_then(Result::ok);
        let login = access::Login {
            users: access::UsersFile::of(news),
            program: program.map(|line| access::Authenticator::new(line, news, time_max)),
            plaintext_passwords: self.nntp.plaintext_passwords,
        };
        access::Access::new(&self.access, login)
    }

    /// The limits on decompression of a batch.
    pub fn wrap_limits(&self) -> article::wrap::WrapLimits {
        article::wrap::WrapLimits {
            expanded_bytes_max: self.limits.expansion_bytes_max,
            ratio_max: self.limits.expansion_ratio_max,
            memory_bytes_max: self.limits.expansion_memory_bytes_max,
            ..article::wrap::WrapLimits::default()
        }
    }

    /// The options of the store.
    pub fn store_options(&self) -> store::Options {
        store::Options {
            durability: match self.store.sync {
                Sync::Each => store::Durability::Each,
                Sync::Commit => store::Durability::Commit,
                Sync::None => store::Durability::None,
            },
            segment_bytes: self.store.segment_bytes,
            checkpoint_bytes: self.store.checkpoint_bytes,
            ..store::Options::default()
        }
    }

    /// Where the objects of this site are.
    pub fn object_location(&self, directory: &NewsDirectory) -> objects::Location {
        let offload = &self.offload;
        let ca = offload.tls_ca.trim();
        // A fault of it was an error when the settings were read.
        let fingerprint = offload.fingerprint().ok().flatten();
        objects::Location {
            url: offload.url.clone(),
            news: Some(directory.root().to_owned()),
            bucket: objects::BucketSettings {
                endpoint: offload.endpoint.clone(),
                region: offload.region.clone(),
                trust: objects::Trust {
                    ca: (!ca.is_empty()).then(|| directory.file(ca)),
                    fingerprint: fingerprint.map(objects::Fingerprint),
                    name: None,
                },
                login: directory.file(OBJECTS_LOGIN_FILE),
            },
            site: self.name.clone(),
            cache_bytes_max: offload.cache,
        }
    }

    /// The segments that move to the object store, at a time in seconds since 1970.
    pub fn offloaded_segments(&self, now: i64) -> store::offload::Wanted<'static> {
        let seconds = |days: u64| i64::try_from(days.saturating_mul(86_400)).unwrap_or(i64::MAX);
        store::offload::Wanted::Policy {
            before: match self.offload.after_days {
                0 => i64::MIN,
                days => now.saturating_sub(seconds(days)),
            },
            local_bytes_max: match self.offload.keep_local {
                0 => u64::MAX,
                bytes => bytes,
            },
        }
    }

    /// The options of rnews.
    pub fn rnews_options(&self) -> relay::rnews::Options {
        relay::rnews::Options {
            commit_bytes: usize::try_from(self.store.commit_bytes).unwrap_or(usize::MAX),
            sync_each: self.store.sync == Sync::Each,
            wrap: self.wrap_limits(),
            save_too_large: self.limits.save_too_large,
            ..relay::rnews::Options::default()
        }
    }

    /// The options of newsrun, for every batch in in.coming/.
    pub fn drain_options(&self) -> relay::incoming::DrainOptions {
        relay::incoming::DrainOptions {
            rnews: self.rnews_options(),
            ..relay::incoming::DrainOptions::default()
        }
    }

    /// The rules for posts in a news directory.
    pub fn inject_rules(&self, directory: &NewsDirectory) -> inject::InjectRules {
        let post = &self.post;
        inject::InjectRules {
            limits: self.rules(),
            mailname: self.mailname(directory).into_bytes(),
            organization: self.organization.clone().into_bytes(),
            complaints: post.complaints.clone().into_bytes(),
            // An unknown word was refused when the settings were read.
            reveal: inject::Reveal::parse(&post.reveal).unwrap_or_default(),
            subject_control: post.takes_cmsg(),
        }
    }

    /// The way of mail to moderators.
    pub fn mailer(&self, directory: &NewsDirectory) -> inject::Mailer {
        // A server with errors was refused when the settings were read.
        let server = self.post.mail_server().unwrap_or_default();
        inject::Mailer::new(&self.post.sendmail, server, &self.mailname(directory))
    }

    /// The text after the `@`: the setting, the classic file `mailname`, or the site's name.
    pub fn mailname(&self, directory: &NewsDirectory) -> String {
        if !self.post.mailname.is_empty() {
            return self.post.mailname.clone();
        }
        let file = store::regular::read_to_string(&directory.file("mailname")).unwrap_or_default();
        let first = file.lines().next().unwrap_or_default().trim();
        if article::message_id::valid_domain_strict(first.as_bytes()) {
            first.to_owned()
        } else {
            self.name.clone()
        }
    }
}
