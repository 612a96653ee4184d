//! Other programs: INN, C News tools, newsreaders, UUCP.

mod a_ring_with_inn;
mod classic_tools_answer;
mod inn_and_we_feed_each_other;
mod inn_exchanges_batches_with_us;
mod inn_takes_our_batches;
mod inn_takes_what_sendbatches_sends;
mod innfeed_feeds_us;
mod innxmit_feeds_us;
mod leafnode_fetches_and_posts;
mod neomutt_reads_and_posts;
mod newsreaders_log_in_over_tls;
mod nntpget_fetches_from_us;
mod nntplib_gets_every_answer_right;
mod pullnews_takes_from_us;
mod slrn_reads_posts_and_cancels;
mod slrnpull_pulls_a_group_whole;
mod suck_takes_and_rpost_gives;
mod the_usual_tools_read_a_mount;
mod tin_reads_a_mounted_spool;
mod tin_reads_a_tree;
mod tin_reads_posts_and_cancels;
mod uucp_brings_batches;
mod uucp_takes_our_batches_along;
