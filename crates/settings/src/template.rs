//! The file as `broadsheet init` writes it: every setting with its default and a comment.

use std::fmt::Write as _;

use crate::{SECTIONS, Setting, Settings, TABLE, Unit};

const HEAD: &str = "\
# Settings of this news system. Every setting is here with its default,
# but those of [cluster] (docs/book/cluster.md) and buckets (docs/book/offload.md).
# `broadsheet check' prints the settings in force and where each was set.
# Sizes can be written as \"8 MiB\", \"512 KiB\", \"20 GiB\".
";

/// What comes after the settings of the top, before the first section.
const ACCEPT: &str = "
# Groups that this site accepts. Set it here or in the ME line of sys, not in both.
# accept = \"all,!alt.binaries\"
";

/// The end of the file: sites are the administrator's to write.
const SITES: &str = r#"
# Sites that receive articles from this one, a table each; sites in sys are fed
# as well. Patterns are those of C News. SITE in a command is replaced by the
# name. Commands are run without a shell.
# [[site]]
# name = "news.example.net"
# groups = ["comp", "sci", "!comp.os"]
# distributions = "world,na"         # absent: all
# exclude = "oldname.example.net"    # skip articles with this name in Path
# max_size = "100 kB"                # larger articles are not sent
# only = "moderated"                 # or "unmoderated"
# hops = 3                           # only articles with at most 3 hops in Path
# start = "now"                      # where a new site starts; or "oldest", "2026-01-31"
# via = { batch = "uux - -r -z SITE!rnews", size = "100 kB", compress = "gzip", queue = 20 }
# via = "batchparms"                                  # as set in the file batchparms
# via = { directory = "/srv/other/in.coming" }        # batches, written there
# via = { files = "out.going/x/togo", form = "f" }    # a list of articles: f, F, n, I
# via = { program = "nntpsend -x", gives = "id" }     # kept running; or "article"
# via = { command = "mail -s news admin" }            # for each article
# via = { news = "/srv/other" }                       # another news directory
# via = { nntp = "news.example.net" }                 # a peer, by NNTP
"#;

/// Then servers to pull from.
const PULLS: &str = r#"
# Servers where this site is a reader: `broadsheet pull' fetches their articles.
# [[pull]]
# name = "news.example.net"
# groups = "comp.*,!comp.binaries.*"   # wildmat; of the groups in active
# schedule = "every 15 min"            # absent: only by hand
# post = true                          # posts made here go there
# tls = "starttls"                     # or "implicit"
# user = "anna"
# password_file = "news.example.net.password"
"#;

/// Then who may do what, which is the administrator's to write as well.
const ACCESS: &str = r#"
# Permissions to read, post and send (as a peer), a table each. The first table
# that matches a client applies. Without any table, clients on this machine may
# read, post and send everything, and other clients nothing. `broadsheet access
# explain' shows which table applies. Groups are wildmats, as in INN. A
# permission that is absent is denied.
# [[access]]
# name = "news.example.net"            # for logs; for a peer, its name in Path
# from = ["192.0.2.0/24", "2001:db8::/32"]   # networks, "local"; absent: any
# certificates = ["sha256:SHA256"]     # TLS client certificates
# tls = true                           # only over TLS
# send = "*,!local.*"                  # `@' before a group rejects cross-posts to it
# articles_per_minute_max = 60000
# [[access]]
# name = "people"
# users = ["anna", "*"]                # users that have logged in; "*": any
# read = "*"
# post = "*,!news.announce.*"
# approve = true                       # may post with Approved
# without = ["newnews", "xpat"]        # also hdr, over, compress, streaming,
#                                      # authinfo, sasl, starttls
# size_max = "1 MB"                    # largest article
# connections_max = 100
# connections_per_address_max = 4
# posts_per_minute_max = 5             # above it, each wait doubles
# bytes_per_second_max = "1 MB"        # sent on one connection
"#;

/// Last, the rules of expire that can stand here instead of in explist, and the limits that hold for both.
const EXPIRY: &str = r#"
# Limits of expire, also with explist.
# [expiry]
# keep_free = "20 GiB"       # free disk space: the oldest articles are removed first
# max_size = "500 GiB"       # the same for the size of all articles
# max_fraction = 0.6         # a run that would remove more needs --force
# dead_fraction = 0.15       # a segment with more dead articles is written anew
# expired_days = 14          # /expired/ of explist, for [[expire]]
# bounds = { low = 0, high = 90 }   # /bounds/, for [[expire]]
# archive_directory = "archive"     # for archive = "@" and "segments"

# With one or more of these tables, explist is not used. The first one that
# matches a group applies.
# [[expire]]
# patterns = "comp.sources,!comp.sources.d"   # C News patterns, or a list of them
# moderation = "moderated"   # or "unmoderated"; absent: any
# keep_days = "never"
# archive = "@"
# [[expire]]
# patterns = "all"
# low = 1                    # Expires is limited to low and high
# default = 14
# high = 60
"#;

/// Columns of a comment, without the `# `.
const COMMENT_WIDTH: usize = 76;

/// The text of a `broadsheet.toml` that says exactly `settings`.
pub fn template(settings: &Settings) -> String {
    let mut out = HEAD.to_owned();
    let mut section = "";
    let is_written = |setting: &&Setting| !is_left_out(setting, settings);
    for setting in TABLE.iter().filter(is_written) {
        if setting.section != section {
            if section.is_empty() {
                out.push_str(ACCEPT);
            }
            section = setting.section;
            let about = SECTIONS
                .iter()
                .find(|(name, _)| *name == section)
                .map_or("", |(_, about)| about);
            let _ = write!(out, "\n[{section}]\n{}", comment(about));
        }
        let unit = match setting.unit {
            Unit::Count(unit) => format!("  # {unit}"),
            Unit::Bytes | Unit::Text => String::new(),
        };
        let value = setting.written(settings);
        let _ = write!(
            out,
            "\n{}{} = {value}{unit}\n",
            comment(setting.help),
            setting.key
        );
    }
    out.push_str(SITES);
    out.push_str(PULLS);
    out.push_str(ACCESS);
    out.push_str(EXPIRY);
    out
}

/// Whether a setting is not written. Few sites are clusters or use buckets, and every command reads the file.
fn is_left_out(setting: &Setting, settings: &Settings) -> bool {
    match (setting.section, setting.key) {
        ("cluster", _) => !settings.is_node(),
        ("offload", "endpoint" | "region" | "tls_ca" | "tls_fingerprint") => {
            !objects::is_bucket(&settings.offload.url)
        }
        _ => false,
    }
}

fn comment(words: &str) -> String {
    wrap(words, COMMENT_WIDTH)
        .iter()
        .map(|line| format!("# {line}\n"))
        .collect()
}

/// Breaks `text` at blanks into lines of at most `width` characters; a longer word stands alone.
/// Blank lines (paragraphs) and lines that begin with two blanks (examples) stay as they are.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for source in text.lines() {
        let kept = source.is_empty() || source.starts_with("  ");
        if kept {
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            lines.push(source.to_owned());
            continue;
        }
        for word in source.split_ascii_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Origin, Read};

    #[test]
    fn wrapping_keeps_paragraphs_and_examples() {
        assert_eq!(
            wrap("one two three\n\n  a  b\nx", 8),
            ["one two", "three", "", "  a  b", "x"]
        );
    }

    #[test]
    fn the_template_reads_back_as_the_same_settings_and_leaves_none_out() {
        let mut settings = Settings {
            name: "news.example.org".to_owned(),
            ..Settings::default()
        };
        settings.organization = "The \"Old\" \\ House".to_owned();
        settings.store.commit_bytes = (1 << 20) + 1;
        let text = template(&settings);
        let read = Read::parse(Path::new("t"), text.into()).unwrap();
        assert_eq!(read.settings, settings);
        for (setting, origin) in TABLE.iter().zip(read.origins()) {
            let is_left_out = is_left_out(setting, &settings);
            assert_eq!(origin == Origin::Default, is_left_out, "{}", setting.path());
        }
        settings.offload.url = "s3://news-articles/here".to_owned();
        settings.offload.region = "garage".to_owned();
        let read = Read::parse(Path::new("t"), template(&settings).into()).unwrap();
        assert_eq!(read.settings, settings);
    }

    #[test]
    fn each_way_of_the_example_reads_when_its_mark_is_taken_off() {
        let text = SITES.replace("\n# ", "\n");
        let (head, ways) = text.split_once("via = ").unwrap();
        let head = head.split_once("[[site]]").unwrap().1;
        for way in ways.split("\nvia = ") {
            let text = format!("name = \"a\"\naccept = \"all\"\n[[site]]{head}via = {way}");
            let read = Read::parse(Path::new("t"), text.clone().into());
            let sites = read
                .map_err(|faults| format!("{text}: {faults}"))
                .unwrap()
                .settings
                .sites;
            assert_eq!(sites.sites.len(), 1);
        }
    }

    #[test]
    fn the_examples_of_access_read_when_their_marks_are_taken_off() {
        let text = ACCESS
            .replace("SHA256", &"0".repeat(64))
            .replace("\n# ", "\n");
        let (_, tables) = text.split_once("\n[[access]]").unwrap();
        let text = format!("name = \"a\"\n[[access]]{tables}");
        let read = Read::parse(Path::new("t"), text.into());
        let read = read.map_err(|faults| faults.to_string()).unwrap();
        assert_eq!(read.settings.access.entries.len(), 2);
    }

    #[test]
    fn the_example_of_pull_reads_when_its_marks_are_taken_off() {
        let text = PULLS.replace("\n# ", "\n");
        let (_, table) = text.split_once("\n[[pull]]").unwrap();
        let text = format!("name = \"a\"\n[[pull]]{table}");
        let read = Read::parse(Path::new("t"), text.into());
        let read = read.map_err(|faults| faults.to_string()).unwrap();
        assert!(read.settings.pulls[0].post);
    }

    #[test]
    fn the_examples_of_expire_read_when_their_marks_are_taken_off() {
        let (_, tables) = EXPIRY.split_once("\n# [expiry]").unwrap();
        let tables = tables
            .replace("\n# With", "\n## With")
            .replace("\n# matches", "\n## matches");
        let tables = tables.replace("\n# ", "\n").replace("\n## ", "\n# ");
        let text = format!("name = \"a\"\n[expiry]{tables}");
        let read = Read::parse(Path::new("t"), text.into());
        let read = read.map_err(|faults| faults.to_string()).unwrap();
        let expiry = read.expiry.map_err(|faults| faults.to_string()).unwrap();
        assert_eq!(expiry.rules.len(), 2);
        assert!(expiry.space.keep_free.is_some() && expiry.expired.is_some());
    }

    #[test]
    fn reading_the_template_is_cheap() {
        let settings = Settings {
            name: "a".to_owned(),
            ..Settings::default()
        };
        let text = template(&settings);
        assert!(
            text.len() < 15 << 10,
            "{} bytes: every command reads this file",
            text.len()
        );
    }
}
