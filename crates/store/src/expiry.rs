//! Expiry: the decisions of expire, and the rule that an article is visible.

pub(crate) mod decision;
pub(crate) mod state;
pub(crate) mod survey;
pub(crate) mod visibility;
