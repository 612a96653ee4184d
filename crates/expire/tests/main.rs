//! All integration tests of this crate in one program: a module a behaviour.

mod room;

mod a_failed_copy_keeps_its_article;
mod a_missing_policy_refuses;
mod archives_lie_as_their_layout_says;
mod archiving_loses_nothing;
mod classic_regression;
mod damage_removes_nothing;
mod expire_ctl_comes_over;
mod policy_against_a_model;
mod space_takes_what_has_used_up_its_life;
mod what_goes_agrees_with_a_model;
