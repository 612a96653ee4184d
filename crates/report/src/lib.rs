//! The daily report: what a news system did in a day, for its administrator.
//!
//! | module | contents |
//! |---|---|
//! | [`day`] | days of UTC |
//! | [`ranking`] | counts by name in bounded memory |
//! | [`network`] | addresses of readers, shortened |
//! | [`figures`] | the files `figures/DAY`: counts of a quarter of an hour, one line each |
//! | [`log_fold`] | the lines of `log` of a day, counted |
//! | [`failed_tasks`] | the scheduled tasks whose last run failed |
//! | [`daily`] | the report of a day, a fold over both |
//! | [`forecast`] | when the disk will be full |
//! | [`text`], [`html`], [`plot`] | the report for people (`escape`: text within HTML) |
//! | [`paths`] | the statistics of Path headers for Top1000 |
//!
//! *Architecture invariant:* a report reads logs, and nothing waits for it. The daemon appends the figures; losing them loses no article.

pub mod daily;
pub mod day;
mod escape;
pub mod failed_tasks;
pub mod figures;
pub mod forecast;
pub mod html;
mod lines;
pub mod log_fold;
pub mod network;
pub mod paths;
pub mod plot;
pub mod ranking;
pub mod text;
