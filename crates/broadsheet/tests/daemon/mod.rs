//! The daemon: schedules, reloads, its journal, its sandbox.

mod a_day_is_reported;
mod a_reload_waits_for_no_stream;
mod an_idle_daemon_sleeps;
mod commands_work_beside_the_daemon;
mod metrics_withstand_any_client;
mod nobody_need_listen_to_notices;
mod reload_is_all_or_nothing;
mod root_goes_on_as_the_owner;
mod the_daemon_confines_itself;
mod the_daemon_does_what_is_due;
mod the_journal_has_severities;
mod the_watchdog_is_fed;
