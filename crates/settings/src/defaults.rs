//! The settings in force where the file says nothing.

use groups::When;
use relay::rules;

use crate::cluster::RESEED_AUTO;
use crate::{
    Auth, Backup, Cluster, Control, Incoming, Limits, Nntp, Offload, Post, Report, Schedule,
    Settings, Store, Sync,
};

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            name: String::new(),
            organization: String::new(),
            log_format: "text".to_owned(),
            sandbox: true,
            junk: false,
            headers_only: false,
            limits: Limits {
                article_bytes_max: rules::ARTICLE_BYTES_MAX as u64,
                save_too_large: false,
                header_bytes_max: rules::HEADER_BYTES_MAX as u64,
                groups_per_article_max: rules::GROUPS_MAX as u64,
                message_id_bytes_max: rules::MESSAGE_ID_BYTES_MAX as u64,
                clock_skew_seconds: rules::FUTURE_SECONDS_MAX as u64,
                article_age_days_max: 0,
                expansion_bytes_max: 4 << 30,
                expansion_ratio_max: 1_000,
                expansion_memory_bytes_max: 128 << 20,
            },
            store: Store {
                segment_bytes: 256 << 20,
                commit_bytes: 8 << 20,
                checkpoint_bytes: 64 << 20,
                sync: Sync::Commit,
                restorable_days: 7,
            },
            offload: Offload {
                url: String::new(),
                endpoint: String::new(),
                region: "us-east-1".to_owned(),
                tls_ca: String::new(),
                tls_fingerprint: String::new(),
                after_days: 30,
                keep_local: 0,
                cache: 1 << 30,
            },
            schedule: Schedule {
                expire: When::Daily(4 * 3_600 + 30 * 60),
                offload: When::Daily(6 * 3_600 + 30 * 60),
                sendbatches: When::Off,
                report: When::Daily(30 * 60),
                backup: When::Daily(5 * 3_600 + 30 * 60),
                fsck: When::Off,
            },
            backup: Backup {
                to: String::new(),
                keep: 7,
            },
            report: Report {
                mail: String::new(),
                days: 35,
                alarm_after: "1 h".to_owned(),
            },
            control: Control {
                cancel: relay::CancelPolicy::Locked,
                age_days_max: 10,
                name_part_bytes_max: groups::name::NEW_PART_BYTES_MAX as u64,
            },
            nntp: Nntp {
                listen: String::new(),
                listen_tls: String::new(),
                certificate: String::new(),
                key: String::new(),
                without: String::new(),
                plaintext_passwords: false,
                idle_seconds: 600,
                first_seconds: 60,
                connections_max: 20_000,
                connections_per_address_max: 64,
                threads: 0,
                keep_free: 128 << 20,
                metrics: String::new(),
            },
            incoming: Incoming {
                keep_free: relay::incoming::spool::KEEP_FREE_BYTES,
                spool_after_seconds: 0,
            },
            sites: groups::Tables::default(),
            auth: Auth {
                program: String::new(),
                program_seconds: access::program::PROGRAM_SECONDS_MAX,
            },
            access: access::Tables::default(),
            pulls: Vec::new(),
            cluster: Cluster {
                servers: String::new(),
                stream: "NEWS".to_owned(),
                replicas: 3,
                ca: String::new(),
                node: String::new(),
                feeds: true,
                reseed: RESEED_AUTO.to_owned(),
            },
            blocks: std::sync::Arc::default(),
            post: Post {
                mailname: String::new(),
                approve: "*".to_owned(),
                reveal: "logging".to_owned(),
                log_days: 30,
                complaints: String::new(),
                sendmail: "/usr/sbin/sendmail -oi -t".to_owned(),
                mail_server: "auto".to_owned(),
                signature_lines: 4,
                customs: String::new(),
            },
        }
    }
}
