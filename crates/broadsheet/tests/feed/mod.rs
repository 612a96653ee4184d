//! Articles that go to other sites, and those that are fetched from them.

mod a_dead_peer_is_told;
mod a_ring_of_three_sites;
mod bad_peers_hold_up_nobody;
mod batcher_makes_a_batch_of_a_list;
mod batches_go_from_site_to_site;
mod deferred_articles_go_another_way;
mod feeds_show_what_waits;
mod feeds_skip_what_expired;
mod feeds_survive_lost_disks;
mod groups_rest_until_a_reader_asks;
mod header_feeds_stay_header_feeds;
mod ids_are_offered_and_asked_for;
mod news_is_pulled;
mod openings_are_told;
mod peer_test_reads_replies_as_a_feed;
mod peers_are_added_and_tested;
mod peers_are_fed_by_nntp;
mod peers_get_new_articles_first;
mod peers_get_the_groups_asked_for;
mod posts_and_control_messages_travel;
mod pull_meets_faults_of_a_real_nnrpd;
mod pulls_leave_nothing_out;
mod pulls_withstand_bad_servers;
mod sites_answer_offers;
mod the_daemon_feeds_at_once;
mod trees_keep_what_the_store_lost;
