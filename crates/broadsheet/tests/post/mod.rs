//! Posts, their moderators and their owners.

mod a_poster_cancels_only_his_own;
mod inews_posts_an_article;
mod post_owners_are_found;
mod posts_to_moderated_groups_are_mailed;
