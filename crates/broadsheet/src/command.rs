//! The table of commands, and finding the one that is meant.

mod access_explain;
pub mod article;
mod article_remove;
mod article_removed;
mod article_restore;
mod article_show;
mod backup;
mod batcher;
mod batchih;
mod batchra;
mod batchsm;
mod block_add;
mod block_list;
mod block_remove;
mod check;
mod cluster_apply;
mod cluster_init;
mod cluster_join;
mod cluster_leave;
mod cluster_nats_config;
mod cluster_reseed;
mod cluster_rules;
mod cluster_status;
mod completion;
mod connections;
pub mod connections_close;
mod control_log;
mod control_run;
mod control_verify;
mod expire;
mod expire_if_low;
mod explain;
mod expov;
mod feed_flush;
mod feed_list;
mod feed_pause;
mod feed_reset;
mod feed_resume;
mod fsck;
mod group_add;
mod group_list;
mod group_match;
mod group_remove;
mod group_set;
mod help;
mod histinfo;
mod history_dump;
mod history_find;
mod history_import;
mod history_rebuild;
mod import_cnews;
mod import_diablo;
mod import_expire_ctl;
mod import_inn;
mod import_mbox;
mod inews;
pub mod init;
mod injnews;
mod intake_pause;
mod intake_resume;
mod intake_show;
mod key_import;
mod key_list;
mod key_remove;
mod limits;
mod mail_drop;
mod mail_list;
mod mail_send;
mod man;
mod mount;
pub mod newsrun;
mod newsrunning;
mod newsspool;
mod overview;
mod peer_add;
mod peer_show;
mod peer_test;
mod post_owner;
mod pull;
mod queuelen;
mod reload;
pub mod report;
mod restore;
mod rnews;
mod segments_fetch;
mod segments_list;
pub mod segments_offload;
mod sendbatches;
mod serve;
mod session;
mod setup;
mod status;
mod stop;
mod upact;
mod user_add;
mod user_list;
mod user_passwd;
mod user_remove;
mod version;

use crate::flags::Section;

/// Every command.
pub static SECTIONS: &[Section] = &[
    Section {
        title: "Setting up",
        commands: &[
            &setup::COMMAND,
            &init::COMMAND,
            &check::COMMAND,
            &limits::COMMAND,
        ],
    },
    Section {
        title: "Articles",
        commands: &[
            &rnews::COMMAND,
            &newsspool::COMMAND,
            &newsrun::COMMAND,
            &newsrunning::COMMAND,
            &pull::COMMAND,
            &explain::COMMAND,
            &article::COMMAND,
            &article_show::COMMAND,
            &article_remove::COMMAND,
            &article_removed::COMMAND,
            &article_restore::COMMAND,
            &block_add::COMMAND,
            &block_list::COMMAND,
            &block_remove::COMMAND,
            &post_owner::COMMAND,
            &overview::COMMAND,
            &mount::COMMAND,
        ],
    },
    Section {
        title: "Posting",
        commands: &[
            &inews::COMMAND,
            &injnews::COMMAND,
            &mail_list::COMMAND,
            &mail_send::COMMAND,
            &mail_drop::COMMAND,
        ],
    },
    Section {
        title: "Batches",
        commands: &[&sendbatches::COMMAND, &batcher::COMMAND, &queuelen::COMMAND],
    },
    Section {
        title: "The daemon",
        commands: &[
            &serve::COMMAND,
            &session::COMMAND,
            &reload::COMMAND,
            &stop::COMMAND,
            &intake_pause::COMMAND,
            &intake_resume::COMMAND,
            &intake_show::COMMAND,
            &connections::COMMAND,
            &connections_close::COMMAND,
        ],
    },
    Section {
        title: "Users and peers",
        commands: &[
            &user_add::COMMAND,
            &user_passwd::COMMAND,
            &user_remove::COMMAND,
            &user_list::COMMAND,
            &access_explain::COMMAND,
            &peer_add::COMMAND,
            &peer_test::COMMAND,
            &peer_show::COMMAND,
        ],
    },
    Section {
        title: "Groups",
        commands: &[
            &group_list::COMMAND,
            &group_add::COMMAND,
            &group_remove::COMMAND,
            &group_set::COMMAND,
            &group_match::COMMAND,
        ],
    },
    Section {
        title: "Feeds",
        commands: &[
            &sendbatches::COMMAND,
            &feed_list::COMMAND,
            &feed_flush::COMMAND,
            &feed_pause::COMMAND,
            &feed_resume::COMMAND,
            &feed_reset::COMMAND,
            &batcher::COMMAND,
            &queuelen::COMMAND,
        ],
    },
    Section {
        title: "Control messages",
        commands: &[
            &control_verify::COMMAND,
            &control_log::COMMAND,
            &control_run::COMMAND,
            &key_import::COMMAND,
            &key_list::COMMAND,
            &key_remove::COMMAND,
        ],
    },
    Section {
        title: "Maintenance",
        commands: &[
            &status::COMMAND,
            &report::COMMAND,
            &fsck::COMMAND,
            &expire::COMMAND,
            &expire_if_low::COMMAND,
            &import_expire_ctl::COMMAND,
            &import_inn::COMMAND,
            &import_cnews::COMMAND,
            &import_mbox::COMMAND,
            &import_diablo::COMMAND,
            &history_find::COMMAND,
            &history_dump::COMMAND,
            &history_import::COMMAND,
            &history_rebuild::COMMAND,
            &segments_list::COMMAND,
            &segments_offload::COMMAND,
            &segments_fetch::COMMAND,
            &backup::COMMAND,
            &restore::COMMAND,
        ],
    },
    Section {
        title: "Clusters",
        commands: &[
            &cluster_nats_config::COMMAND,
            &cluster_init::COMMAND,
            &cluster_join::COMMAND,
            &cluster_reseed::COMMAND,
            &cluster_status::COMMAND,
            &cluster_apply::COMMAND,
            &cluster_leave::COMMAND,
            &cluster_rules::COMMAND,
        ],
    },
    Section {
        title: "Classic tools",
        commands: &[
            &histinfo::COMMAND,
            &upact::COMMAND,
            &expov::COMMAND,
            &batchih::COMMAND,
            &batchsm::COMMAND,
            &batchra::COMMAND,
        ],
    },
    Section {
        title: "About",
        commands: &[
            &help::COMMAND,
            &man::COMMAND,
            &completion::COMMAND,
            &version::COMMAND,
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_set::CommandSet;
    use crate::flags::Kind;

    #[test]
    fn no_table_names_a_flag_twice_and_every_command_says_what_it_does() {
        for command in CommandSet(SECTIONS).all() {
            let flags: Vec<_> = command.every_flag().collect();
            for (number, flag) in flags.iter().enumerate() {
                for other in flags.iter().skip(number + 1) {
                    assert_ne!(flag.name, other.name, "{}", command.name());
                    assert!(
                        flag.short.is_none() || flag.short != other.short,
                        "{}",
                        command.name()
                    );
                }
                let whole = flag.kind == Kind::Refused || flag.help.ends_with(['.', ')']);
                assert!(whole, "{} --{}", command.name(), flag.name);
            }
            assert!(!command.summary.is_empty() && !command.summary.ends_with('.'));
        }
    }
}
