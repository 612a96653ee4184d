//! `broadsheet limits`: value, unit and purpose of every limit.

use crate::program;
use program::{Program, golden};

#[test]
fn the_defaults_without_a_news_directory() {
    let told = Program::new().run(&["limits"]);
    assert_eq!(told.status, 0, "{told:?}");
    golden("limits.txt", &told.out);
}

#[test]
fn those_of_the_news_directory_with_one() {
    let program = Program::with_news("");
    let changed = program
        .read("news/broadsheet.toml")
        .replace("\"8 MiB\"", "\"3 MiB\"");
    program.write("news/broadsheet.toml", changed.as_bytes());
    let told = program.run(&["limits", "--dir", "news"]);
    assert!(
        told.out
            .contains("limits.article_bytes_max: 3145728 bytes = 3 MiB\n"),
        "{told:?}"
    );
}

#[test]
fn json_has_the_same_rows() {
    let program = Program::new();
    let lines = program
        .run(&["limits"])
        .out
        .lines()
        .filter(|line| !line.starts_with(' '))
        .count();
    let told = program.run(&["limits", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&told.out).expect("JSON");
    let rows = rows.as_array().expect("an array");
    assert_eq!(rows.len(), lines);
    for row in rows {
        assert!(
            row["value"].is_u64() && !row["unit"].as_str().unwrap().is_empty(),
            "{row}"
        );
        assert!(!row["for"].as_str().unwrap().is_empty(), "{row}");
    }
}

/// Constants that are the default of a setting, which is what is printed.
const DEFAULTS: &[(&str, &str)] = &[
    (
        "article::batch::ARTICLE_BYTES_MAX",
        "limits.article_bytes_max",
    ),
    (
        "article::wrap::EXPANDED_BYTES_MAX",
        "limits.expansion_bytes_max",
    ),
    ("article::wrap::RATIO_MAX", "limits.expansion_ratio_max"),
    (
        "article::wrap::MEMORY_BYTES_MAX",
        "limits.expansion_memory_bytes_max",
    ),
    (
        "relay::rules::ARTICLE_BYTES_MAX",
        "limits.article_bytes_max",
    ),
    ("relay::rules::HEADER_BYTES_MAX", "limits.header_bytes_max"),
    ("relay::rules::GROUPS_MAX", "limits.groups_per_article_max"),
    (
        "relay::rules::MESSAGE_ID_BYTES_MAX",
        "limits.message_id_bytes_max",
    ),
    (
        "relay::rules::FUTURE_SECONDS_MAX",
        "limits.clock_skew_seconds",
    ),
    (
        "access::program::PROGRAM_SECONDS_MAX",
        "auth.program_seconds",
    ),
];

/// Constants that their crate gives out under another name.
const ALSO: &[(&str, &str)] = &[
    (
        "article::wrap::trailer::TRAILER_BYTES_MAX",
        "article::wrap::TRAILER_BYTES_MAX",
    ),
    (
        "store::offload::cancel_locks::CANCEL_LOCK_BYTES_MAX",
        "relay::cancel_lock::HEADER_BYTES_MAX",
    ),
    (
        "daemon::recorder::RECORD_SECONDS_MAX",
        "daemon::RECORD_SECONDS_MAX",
    ),
    (
        "server::reader_counts::READERS_NAMED_MAX",
        "server::READERS_NAMED_MAX",
    ),
    (
        "access::sasl::verifier::ITERATIONS_MAX",
        "access::sasl::ITERATIONS_MAX",
    ),
    (
        "groups::active::line::NUMBER_MAX",
        "groups::active::NUMBER_MAX",
    ),
    (
        "groups::active::line::READABLE_NUMBER_MAX",
        "groups::active::READABLE_NUMBER_MAX",
    ),
    (
        "groups::active::line::DIGITS_MAX",
        "groups::active::DIGITS_MAX",
    ),
    ("groups::site::SITES_MAX", "groups::sites::SITES_MAX"),
    (
        "store::log::segment::SEGMENT_BYTES_MAX",
        "store::SEGMENT_BYTES_MAX",
    ),
    ("mount::filesystem::HANDLES_MAX", "mount::HANDLES_MAX"),
    (
        "mount::hierarchy::DIRECTORIES_MAX",
        "mount::DIRECTORIES_MAX",
    ),
    ("mount::listings::LISTED_MAX", "mount::LISTED_MAX"),
    ("mount::listings::ENTRIES_MAX", "mount::ENTRIES_MAX"),
    (
        "mount::contents::CONTENTS_BYTES_MAX",
        "mount::CONTENTS_BYTES_MAX",
    ),
    ("mount::overview_file::SIZES_MAX", "mount::SIZES_MAX"),
    ("mount::mounted::END_SECONDS_MAX", "mount::END_SECONDS_MAX"),
    ("daemon::socket::CLIENTS_MAX", "daemon::CLIENTS_MAX"),
    (
        "daemon::feed_lease::keeper::TOLD_DEFERRED_MAX",
        "daemon::TOLD_DEFERRED_MAX",
    ),
    ("daemon::writer_handle::JOBS_MAX", "daemon::JOBS_MAX"),
    (
        "daemon::request::REQUEST_BYTES_MAX",
        "daemon::REQUEST_BYTES_MAX",
    ),
    ("daemon::feeders::FEEDERS_MAX", "daemon::FEEDERS_MAX"),
    (
        "daemon::feeders::END_SECONDS_MAX",
        "daemon::END_SECONDS_MAX",
    ),
    ("daemon::schedule::RUNNING_MAX", "daemon::RUNNING_MAX"),
    (
        "daemon::journal::LINES_AT_ONCE_MAX",
        "daemon::LINES_AT_ONCE_MAX",
    ),
    (
        "daemon::metrics::CLIENTS_MAX",
        "daemon::METRICS_CLIENTS_MAX",
    ),
    (
        "daemon::metrics::REQUEST_BYTES_MAX",
        "daemon::METRICS_REQUEST_BYTES_MAX",
    ),
    (
        "daemon::intake_queue::REASON_BYTES_MAX",
        "daemon::REASON_BYTES_MAX",
    ),
    (
        "daemon::filing::FEEDS_SECONDS_MAX",
        "daemon::FEEDS_SECONDS_MAX",
    ),
    ("daemon::mails::MAILS_MAX", "daemon::MAILS_MAX"),
    (
        "daemon::mails::RETRY_SECONDS_MAX",
        "daemon::RETRY_SECONDS_MAX",
    ),
    (
        "server::shared::IN_FLIGHT_ALL_BYTES_MAX",
        "server::IN_FLIGHT_ALL_BYTES_MAX",
    ),
    (
        "server::waiting_posts::POSTS_BYTES_MAX",
        "server::POSTS_BYTES_MAX",
    ),
    (
        "server::waiting_posts::POSTS_ADDRESS_BYTES_MAX",
        "server::POSTS_ADDRESS_BYTES_MAX",
    ),
    ("server::shared::HELD_BYTES_MAX", "server::HELD_BYTES_MAX"),
    (
        "server::shared::HELD_SHARE_BYTES_MAX",
        "server::HELD_SHARE_BYTES_MAX",
    ),
    (
        "server::shared::HANDSHAKE_BYTES_MAX",
        "server::HANDSHAKE_BYTES_MAX",
    ),
    (
        "server::shared::HANDSHAKE_SHARE_BYTES_MAX",
        "server::HANDSHAKE_SHARE_BYTES_MAX",
    ),
    (
        "server::network::HANDSHAKE_SECONDS_MAX",
        "server::HANDSHAKE_SECONDS_MAX",
    ),
    (
        "server::network::TIME_SLICE_MILLISECONDS_MAX",
        "server::TIME_SLICE_MILLISECONDS_MAX",
    ),
    (
        "server::network::ROUND_MILLISECONDS_MAX",
        "server::ROUND_MILLISECONDS_MAX",
    ),
    (
        "server::connection::IN_FLIGHT_BYTES_MAX",
        "server::IN_FLIGHT_BYTES_MAX",
    ),
    (
        "server::reservations::RESERVATION_SECONDS_MAX",
        "server::RESERVATION_SECONDS_MAX",
    ),
    (
        "server::reservations::RESERVATIONS_MAX",
        "server::RESERVATIONS_MAX",
    ),
    (
        "server::thread_store::COPIED_BYTES_MAX",
        "server::COPIED_BYTES_MAX",
    ),
    (
        "server::thread_store::LIST_FILE_BYTES_MAX",
        "server::LIST_FILE_BYTES_MAX",
    ),
    (
        "server::certificates::files::PEM_BYTES_MAX",
        "server::certificates::PEM_BYTES_MAX",
    ),
    (
        "server::certificates::files::CERTIFICATES_MAX",
        "server::certificates::CERTIFICATES_MAX",
    ),
    (
        "server::certificates::client_certificate::CHAIN_BYTES_MAX",
        "server::certificates::CHAIN_BYTES_MAX",
    ),
    (
        "objects::bucket::place::PREFIX_BYTES_MAX",
        "objects::PREFIX_BYTES_MAX",
    ),
    ("nntp::lib::COMMAND_BYTES_MAX", "nntp::COMMAND_BYTES_MAX"),
    ("nntp::lib::SASL_BYTES_MAX", "nntp::SASL_BYTES_MAX"),
    ("nntp::lib::LOGINS_FAILED_MAX", "nntp::LOGINS_FAILED_MAX"),
    ("nntp::lib::OUT_BYTES_MAX", "nntp::OUT_BYTES_MAX"),
    ("store::log::position::POSITION_MAX", "store::POSITION_MAX"),
    ("store::log::art::PAD_BYTES_MAX", "store::PAD_BYTES_MAX"),
    ("store::report::FINDINGS_MAX", "store::fsck::FINDINGS_MAX"),
    ("store::report::LOST_IDS_MAX", "store::fsck::LOST_IDS_MAX"),
    ("store::io::map::MAPS_MAX", "store::MAPS_MAX"),
    (
        "store::history::expires_header::TEXT_BYTES_MAX",
        "store::expires_header::TEXT_BYTES_MAX",
    ),
    (
        "nntp::client::opening::CAPABILITY_LINES_MAX",
        "nntp::client::CAPABILITY_LINES_MAX",
    ),
    (
        "nntp::client::reply::REPLY_BYTES_MAX",
        "nntp::client::REPLY_BYTES_MAX",
    ),
    (
        "feed::nntp::connection::ANSWER_SECONDS_MAX",
        "feed::nntp::ANSWER_SECONDS_MAX",
    ),
    (
        "feed::nntp::connection::OPEN_SECONDS_MAX",
        "feed::nntp::OPEN_SECONDS_MAX",
    ),
    (
        "feed::nntp::connection::WINDOW_ARTICLES_MAX",
        "feed::nntp::WINDOW_ARTICLES_MAX",
    ),
    (
        "daemon::node::FLYING_ENTRIES_MAX",
        "daemon::FLYING_ENTRIES_MAX",
    ),
    ("daemon::node::FLYING_BYTES_MAX", "daemon::FLYING_BYTES_MAX"),
    (
        "daemon::node::ENTRY_ARTICLES_MAX",
        "daemon::ENTRY_ARTICLES_MAX",
    ),
    (
        "daemon::node::freshness::BEHIND_SECONDS_MAX",
        "daemon::BEHIND_SECONDS_MAX",
    ),
    ("daemon::node::apply::GRANTS_MAX", "daemon::GRANTS_MAX"),
    (
        "feed::nntp::deferrals::ATTEMPTS_MAX",
        "feed::nntp::ATTEMPTS_MAX",
    ),
    (
        "feed::nntp::counts::REFUSAL_REASONS_MAX",
        "feed::nntp::REFUSAL_REASONS_MAX",
    ),
    (
        "feed::nntp::lane::FLIGHT_ARTICLES_MAX",
        "feed::nntp::FLIGHT_ARTICLES_MAX",
    ),
    (
        "feed::nntp::lane::NOTED_ARTICLES_MAX",
        "feed::nntp::NOTED_ARTICLES_MAX",
    ),
    (
        "feed::nntp::shared_articles::SHARED_BYTES_MAX",
        "feed::nntp::SHARED_BYTES_MAX",
    ),
    (
        "feed::nntp::peer::cursor::DURABLE_SECONDS_MAX",
        "feed::nntp::DURABLE_SECONDS_MAX",
    ),
    (
        "feed::nntp::peer::rest::IDLE_SECONDS_MAX",
        "feed::nntp::IDLE_SECONDS_MAX",
    ),
    (
        "feed::nntp::resolver::RESOLVERS_MAX",
        "feed::nntp::RESOLVERS_MAX",
    ),
    (
        "server::shared::DAMAGE_REMEMBERED_MAX",
        "server::DAMAGE_REMEMBERED_MAX",
    ),
    (
        "objects::bucket::http::ANSWER_BYTES_MAX",
        "objects::ANSWER_BYTES_MAX",
    ),
    (
        "objects::bucket::login::LOGIN_BYTES_MAX",
        "objects::LOGIN_BYTES_MAX",
    ),
    (
        "server::shared::FETCH_THREADS_MAX",
        "server::FETCH_THREADS_MAX",
    ),
    (
        "store::history::cancels::REMOVAL_TEXT_BYTES_MAX",
        "store::REMOVAL_TEXT_BYTES_MAX",
    ),
    (
        "store::expiry::state::EXPIRES_REMEMBERED_SECONDS_MAX",
        "store::EXPIRES_REMEMBERED_SECONDS_MAX",
    ),
    (
        "store::io::salvage::PASSED_BYTES_MAX",
        "store::PASSED_BYTES_MAX",
    ),
    (
        "store::io::reserve::NODE_RESERVE_BYTES_MAX",
        "store::NODE_RESERVE_BYTES_MAX",
    ),
    (
        "store::offload::cache::UNCHECKED_RECORD_BYTES_MAX",
        "store::offload::UNCHECKED_RECORD_BYTES_MAX",
    ),
    (
        "feed::nntp::peer::outage::SILENT_SECONDS_MAX",
        "feed::nntp::SILENT_SECONDS_MAX",
    ),
    (
        "store::index::LOAD_PERCENT_MAX",
        "store::INDEX_LOAD_PERCENT_MAX",
    ),
];

#[test]
fn every_limit_in_the_sources_is_printed() {
    let told = Program::new().run(&["limits", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&told.out).expect("JSON");
    let of = |key: &str| -> Vec<String> {
        rows.as_array()
            .expect("an array")
            .iter()
            // The binary's own call their crate `crate`.
            .filter_map(|row| Some(row[key].as_str()?.replace("crate::", "broadsheet::")))
            .collect()
    };
    let (constants, names) = (of("constant"), of("limit"));
    let found = limits_in_the_sources();
    assert!(found.len() > 30, "{found:?}");
    for constant in &found {
        let setting = DEFAULTS.iter().find(|(default, _)| default == constant);
        let also = ALSO.iter().find(|(inner, _)| inner == constant);
        let printed = match (setting, also) {
            (Some((_, setting)), _) => names.iter().any(|name| name == setting),
            (_, Some((_, outer))) => constants.iter().any(|printed| printed == outer),
            _ => constants.contains(constant),
        };
        assert!(
            printed,
            "`broadsheet limits' does not tell of {constant}: see fixed_limits.rs"
        );
    }
    for (constant, _) in DEFAULTS.iter().chain(ALSO) {
        assert!(
            found.iter().any(|found| found == constant),
            "{constant} is no more"
        );
    }
}

/// `crate::module::NAME` of every `pub const NAME_MAX` of the workspace's crates.
fn limits_in_the_sources() -> Vec<String> {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![crates.clone()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let Some(place) = path
                .strip_prefix(&crates)
                .ok()
                .and_then(|path| path.to_str())
            else {
                continue;
            };
            let Some((krate, module)) = place
                .strip_suffix(".rs")
                .and_then(|place| place.split_once("/src/"))
            else {
                continue;
            };
            let module = module.replace('/', "::");
            let text = std::fs::read_to_string(&path).expect("a source");
            for line in text.lines() {
                let name = line
                    .trim_start()
                    .strip_prefix("pub const ")
                    .and_then(|rest| rest.split_once(':'));
                if let Some((name, _)) = name.filter(|(name, _)| name.ends_with("_MAX")) {
                    found.push(format!("{krate}::{module}::{name}"));
                }
            }
        }
    }
    found
}
