//! All integration tests of this crate in one program: a module a behaviour.

mod newsdir;

mod a_failed_copy_keeps_its_article;
mod archives_have_their_layout;
mod archiving_loses_nothing;
mod classic_regression;
mod damaged_files_remove_nothing;
mod expire_ctl_is_converted;
mod one_run_removes_only_a_part;
mod policy_against_a_model;
mod removals_agree_with_a_model;
mod space_removes_the_oldest_by_share_of_life;
mod without_a_policy_nothing_is_expired;
