//! Which machines take the shortcuts of an engine. The laws compare what each does with and without them.

use qcnlab_schemes::registry::{Config, catalogue};
use qcnlab_schemes::{Cnm, CpFastPath, CpId, Dice, Purpose, ReactionPoint, RpFastPath, Signal};
use qcnlab_units::{BitRate, Bytes, Instant};

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
        ("swift", true, true, true),
        ("powertcp", true, true, true),
        ("theta_powertcp", true, true, true),
        ("nscc", true, true, true),
    ];
    for one in expected {
        assert!(seen.contains(&one), "{one:?} is not in {seen:?}");
    }
}

/// The same of reaction points that limit: whether a frame far from the end of a byte-counter cycle is only counted, and
/// whether the frame that ends the cycle is.
#[test]
fn a_frame_is_only_counted_while_a_limiter_counts_it_and_no_cycle_ends() {
    let cnm = Signal::Cnm(Cnm { cp: CpId(0), quantized_fb: 32, q_offset: -10_000, q_delta: 0 });
    let line = BitRate::gbps(10);
    // A cycle has 150 000 octets: it ends with a frame of one more.
    for (name, first, last) in [
        ("qcn", true, false),
        ("qcn_byte_counter", true, false),
        ("qcn_timer", true, true),
        ("af_qcn", true, false),
        ("qcn_plus", false, false),
    ] {
        let mut rp = Config::find(name, None).expect("listed").reaction_point(line);
        rp.on_signal(Instant::ZERO, &cnm, &mut Dice::new(1, 0, "shortcuts", Purpose::Reaction));
        assert!(rp.limit().is_some_and(|rate| rate < line), "{name}");
        assert_eq!(rp.count_only(FRAME, FRAME), first, "{name}: one frame");
        assert_eq!(rp.count_only(Bytes::new(150_001), FRAME), last, "{name}: the end of a cycle");
    }
}

/// DCQCN as published, at 40 Gb/s: a cycle of 10 MB ends with an octet more, and then the rate is (20 + 40) / 2. Without a
/// byte counter, and without a limiter, no frame ends anything.
#[test]
fn a_byte_counter_of_dcqcn_is_counted_up_to_its_end() {
    let limiting = |config: &Config| {
        let mut rp = config.reaction_point(BitRate::gbps(40));
        assert!(rp.count_only(Bytes::new(20_000_000), Bytes::ZERO), "it does not limit yet");
        rp.on_signal(Instant::ZERO, &Signal::Cnp, &mut Dice::new(1, 0, "shortcuts", Purpose::Reaction));
        assert_eq!(rp.limit(), Some(BitRate::gbps(20)));
        rp
    };
    let mut config = Config::find("dcqcn", Some("SIGCOMM2015")).expect("listed");
    let mut rp = limiting(&config);
    assert!(rp.count_only(FRAME, Bytes::ZERO));
    assert!(!rp.count_only(Bytes::new(9_998_501), Bytes::ZERO), "1500 of 10 000 000 are gone");
    assert!(rp.count_only(Bytes::new(9_998_500), Bytes::ZERO));
    let _ = rp.on_sent(Instant::ZERO, FRAME, Bytes::ZERO, &mut Dice::new(1, 0, "shortcuts", Purpose::Reaction));
    assert_eq!(rp.limit(), Some(BitRate::gbps(30)));
    let counter = config.rp().fields().iter().position(|field| field.name == "byte_reset").expect("a field");
    config.rp_mut().set(counter, None);
    assert!(limiting(&config).count_only(Bytes::new(20_000_000), Bytes::ZERO));
}

/// Alpha falls by itself: an acknowledgement that echoes no mark tells DCQCN nothing. Of the others each counts octets,
/// measures the round trip or reads telemetry.
#[test]
fn acknowledgements_without_a_mark_mean_nothing_to_dcqcn_alone() {
    for name in ["dcqcn", "dctcp", "timely", "hpcc", "swift", "powertcp", "theta_powertcp", "nscc"] {
        let rp = Config::find(name, None).expect("listed").reaction_point(BitRate::gbps(10));
        assert_eq!(rp.ignores_unmarked_acknowledgements(), name == "dcqcn", "{name}");
    }
}
