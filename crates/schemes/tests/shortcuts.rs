//! Which machines take the shortcuts of an engine. The laws compare what each does with and without them.

use qcnlab_schemes::registry::{Config, catalogue};
use qcnlab_schemes::{CpFastPath, CpId, RpFastPath};
use qcnlab_units::{BitRate, Bytes};

const FRAME: Bytes = Bytes::new(1500);

/// Whether a new machine of each scheme counts one frame, far from its first sample and with no limiter, and does no
/// more; and whether it may be told of frames that left later.
#[test]
fn the_first_frame_of_a_run_is_only_counted_where_a_scheme_can_tell() {
    let seen: Vec<(&str, bool, bool, bool)> = catalogue()
        .iter()
        .map(|listing| {
            let config = Config::find(listing.name, None).expect("listed means found");
            let mut rp = config.reaction_point(BitRate::gbps(10));
            let port = config.congestion_point(CpId(0)).count_only(true, true, FRAME);
            (listing.name, port, rp.count_only(FRAME, Bytes::ZERO), rp.on_sent_may_be_late())
        })
        .collect();
    let expected = [
        ("none", false, false, false),
        ("qcn", true, true, true),
        ("qcn_byte_counter", true, true, true),
        ("qcn_timer", true, true, true),
        ("af_qcn", false, true, true),
        ("qcn_sonar", false, false, false),
        ("fb99", false, false, false),
        ("ecm", true, true, true),
        ("ecm_q", true, true, true),
        ("ecm_plus", true, false, true),
        ("dcqcn", true, true, true),
        ("qcn_plus", false, false, false),
        ("nic_fb", false, false, true),
        ("fecn", false, false, false),
        ("qcn_three_point", false, false, true),
        ("qcn_fb_hat", true, false, true),
        ("e2cm", true, false, false),
        ("dctcp", false, true, true),
        ("timely", true, true, true),
        ("hpcc", true, true, true),
    ];
    assert_eq!(seen, expected);
}
