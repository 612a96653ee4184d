//! What goes, and the space that comes back.

mod a_full_disk_is_expired;
mod an_unreadable_expires_goes_by_the_default;
mod archives_that_cannot_work_are_told;
mod disk_use_really_falls;
mod expire_archives_into_a_second_news_directory;
mod expire_beside_rnews;
mod expire_frees_space_on_btrfs;
mod expire_looks_before_it_leaps;
mod expire_makes_room;
mod expire_passes_the_classic_regression;
mod expire_refuses_what_looks_wrong;
mod expire_removes_what_is_old;
mod expire_works_on_a_full_disk;
mod expires_alone_moves_marks_and_counts;
mod old_articles_are_taken;
mod real_articles_expire;
mod status_is_true_after_expire;
